"""Papers: every table and figure of the papers that can be run, with honest noise and ours beside it; and the audit.

A number that is shown was measured by this code, in the run that its file names. An experiment is a list of parts, each
is measured once and kept, and the table, the picture and the verdict are functions of what was kept. Rows are public or
made up; nothing here touches a person's data, and noise is seeded so that the numbers can be had again. This package is
no part of the library, and the library never imports it.

``python -m papers NAME`` runs an entry, ``make papers`` all of them, ``python -m papers audit NAME`` an attack.

Where to look: ``experiment`` says what an entry is, ``running`` how it is run and resumed, ``page`` makes the page of
the documentation, ``entries`` lists all of them, ``command_line`` reads what was written after ``python -m papers``;
then one folder a paper. ``audit`` attacks everything that the library releases.
"""
