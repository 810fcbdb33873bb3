"""The lab in a process of its own, where a busy machine makes no trial void: a test that asks for behaviour waits for no quiet.

Python imports this at its start where `builders.quiet` put the folder on the path. Any other program is left as it is.
"""

import sys

if sys.orig_argv[1:2] == ["-m"] and sys.orig_argv[2].startswith("fairground"):
    from typing import Any

    from builders.expected import OF_THE_MACHINE
    from fairground.judge import validity
    from fairground.model import Finding

    judged = validity.findings

    def quiet(*args: Any, **named: Any) -> tuple[Finding, ...]:
        """What was found, but for what a busy machine does by itself."""
        return tuple(one for one in judged(*args, **named) if one.id not in OF_THE_MACHINE)

    validity.findings = quiet
