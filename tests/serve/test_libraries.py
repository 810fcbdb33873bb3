"""The lab in a browser needs libraries that who only measures need not install."""

from __future__ import annotations

import pytest

from fairground import serve
from fairground.model import LabError


def test_what_is_missing_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the libraries; where both are here nothing is said."""
    serve.require_libraries()
    for missing in serve.LIBRARIES:
        monkeypatch.setattr(serve, "find_spec", lambda name, missing=missing: None if name == missing else object())
        with pytest.raises(LabError) as error:
            serve.require_libraries()
        assert error.value.message == f"the lab in a browser needs `{missing}`, which is not installed"
        assert error.value.hint and "fairground[serve]" in error.value.hint and error.value.exit_code == 3
