"""Published claims: the language in which they are tested, and their verdicts on a run. Pure: no I/O, no clock."""
