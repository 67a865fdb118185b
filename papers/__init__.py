"""Papers: reproduce tables and figures of papers, with correct noise and this library's methods beside; and the audit.

Every number that is shown was measured by this code, in the run that its file names. An experiment is a list of parts.
Each part is measured once and saved, and the table, the figure and the verdict are functions of the saved results. Rows
are public or synthetic, and noise is seeded so that the numbers are reproducible. This package is not a part of the
library, and the library never imports it.

``python -m papers NAME`` runs an entry, ``make papers`` all of them, ``python -m papers audit NAME`` an attack.

Where to look: ``experiment`` defines an experiment, ``running`` runs and resumes it, ``reproduced_page`` writes the
page of the documentation, ``entries`` lists all experiments, ``command_line`` parses ``python -m papers``, and there is
one folder for each paper. ``audit`` attacks everything that the library releases.
"""
