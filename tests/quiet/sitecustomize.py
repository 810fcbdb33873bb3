"""The lab in a process of its own, where a busy machine makes no trial void: a test that asks for behaviour waits for no quiet.

What it measures of a service is short there, too: no test asks how long a service takes to become warm or to answer well.
Python imports this at its start where `builders.quiet` put the folder on the path. Any other program is left as it is.
"""

import sys

if sys.orig_argv[1:2] == ["-m"] and sys.orig_argv[2].startswith("fairground"):
    from builders import quiet
    from fairground.judge import validity

    validity.findings = quiet.without_the_machine(validity.findings)
    if {"try", "capacity"} & set(sys.orig_argv):
        from fairground.capacity.service import behaviour, drive

        drive.WARM_S, behaviour.SETTLE_USUAL_S = 0.3, 0.1

        from fairground.cli import capacity

        capacity.STEP_S = 1
