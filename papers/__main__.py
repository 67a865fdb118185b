"""``python -m papers``, in a checkout."""

import sys

from papers.command_line import main

if __name__ == "__main__":
    sys.exit(main())
