"""`hosts.toml`, and an address in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairground.inputs.hosts import HostsAsked, hosts_asked
from fairground.model import LabError


def test_an_address_is_taken_as_it_is() -> None:
    """With the folder that the command line names."""
    assert hosts_asked("tls://10.0.0.5", Path("own")) == HostsAsked("tls://10.0.0.5", Path("own"))


def test_a_file_says_all_of_it(tmp_path: Path) -> None:
    """Its certificate's folder is relative to the file; the command line's goes before it."""
    path = tmp_path / "hosts.toml"
    path.write_text('address = "10.0.0.5"\ntls = "certificate"\nhosts = ["a", "b"]\n')
    assert hosts_asked(str(path), None) == HostsAsked("10.0.0.5", tmp_path / "certificate", ("a", "b"))
    assert hosts_asked(str(path), Path("own")).tls == Path("own")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('address = "x"\nadress = "y"', "unknown key `adress` in `hosts.toml`, line 2"),
        ("hosts = []", "`address` is missing in `hosts.toml`"),
        ('address = " "', "`address` is empty in `hosts.toml`, line 1"),
        ('address = "x"\nhosts = "a"', "`hosts` is a text, not a list, in `hosts.toml`, line 2"),
    ],
)
def test_what_does_not_fit_is_told_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    """One sentence and exit code 2."""
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    with pytest.raises(LabError, match=message) as caught:
        hosts_asked(str(path), None)
    assert caught.value.exit_code == 2
