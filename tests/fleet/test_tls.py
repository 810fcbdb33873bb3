"""Addresses of schedulers, and the fleet's certificate."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairground.fleet import tls
from fairground.model import LabError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("127.0.0.1", "tcp://127.0.0.1:8786"),
        ("localhost:9000", "tcp://localhost:9000"),
        ("tcp://127.0.0.1:0", "tcp://127.0.0.1:0"),
        ("tls://127.0.0.1:1", "tls://127.0.0.1:1"),
        ("10.0.0.5", "tls://10.0.0.5:8786"),
        ("bench.example:1", "tls://bench.example:1"),
        ("[::1]:1", "tcp://[::1]:1"),
        ("[fd00::5]", "tls://[fd00::5]:8786"),
    ],
)
def test_beyond_loopback_it_is_tls(text: str, shown: str) -> None:
    """What says no protocol is encrypted wherever others could reach it."""
    assert str(tls.address(text)) == shown


def test_who_names_a_certificate_means_tls() -> None:
    """On loopback, too."""
    assert str(tls.address("127.0.0.1", Path("certificate"))) == "tls://127.0.0.1:8786"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tcp://10.0.0.5:8786", "is beyond loopback and not encrypted"),
        ("0.0.0.0:8786", "stands for every address"),
        ("http://127.0.0.1", "is not the address of a scheduler"),
        ("127.0.0.1:many", "is not the address of a scheduler"),
        ("127.0.0.1:99999", "is not the address of a scheduler"),
        ("127.0.0.1/path", "is not the address of a scheduler"),
        ("", "is not the address of a scheduler"),
    ],
)
def test_what_is_no_address(text: str, message: str) -> None:
    """One sentence each; plain connections beyond loopback are refused."""
    with pytest.raises(LabError, match=message) as caught:
        tls.address(text)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", [tls.KEY, tls.CERTIFICATE, "cert.pem"])
def test_a_file_of_somebody_elses_is_left_as_it_is(name: str, tmp_path: Path) -> None:
    """Half of a certificate is no fleet's. Beside other files one is made, and its key is its owner's alone."""
    theirs = tmp_path / name
    theirs.write_text("precious")
    theirs.chmod(0o644)
    if name == "cert.pem":
        assert tls.make_certificate(tmp_path).key.stat().st_mode & 0o077 == 0
    else:
        with pytest.raises(LabError, match="is no fleet's, and is left as it is"):
            tls.make_certificate(tmp_path)
        assert list(tmp_path.iterdir()) == [theirs]
    assert theirs.read_text() == "precious" and theirs.stat().st_mode & 0o777 == 0o644


def test_a_certificate_is_made_once(tmp_path: Path) -> None:
    """It vouches for itself, its key is its owner's alone, and a second start keeps it."""
    folder = tmp_path / "own"
    with pytest.raises(LabError, match="holds no certificate"):
        tls.of_fleet(folder)
    made = tls.make_certificate(folder)
    assert made.key.stat().st_mode & 0o077 == 0
    context = ssl.create_default_context(cafile=str(made.certificate))
    context.load_cert_chain(made.certificate, made.key)
    before = made.certificate.read_bytes()
    assert tls.make_certificate(folder).certificate.read_bytes() == before
    assert tls.of_fleet(folder) == made


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_use_is_refused(mode: int, tmp_path: Path) -> None:
    """As after a careless copy; for its owner alone it is taken."""
    made = tls.make_certificate(tmp_path / "fleet")
    assert tls.of_fleet(made.folder) == made
    made.key.chmod(mode)
    for ask in (lambda: tls.of_fleet(made.folder), lambda: tls.make_certificate(made.folder)):
        with pytest.raises(LabError, match="others than its owner") as raised:
            ask()
        assert raised.value.hint == f"chmod 600 {made.key}"


@pytest.mark.parametrize(("days", "words"), [(-1, "is valid from"), (tls.VALID_DAYS + 1, "expired on"), (4000, "expired on")])
def test_a_certificate_that_is_not_valid_now_says_so(days: int, words: str, tmp_path: Path) -> None:
    """With the day, and what the clock says: it may be the clock that is wrong."""
    made = tls.make_certificate(tmp_path / "fleet")
    now = datetime.now(UTC)
    tls._check(made, now)
    with pytest.raises(LabError, match=words) as raised:
        tls._check(made, now + timedelta(days=days))
    assert "clock says" in raised.value.message
    assert now + timedelta(days=364) < tls.expiry_of(made) < now + timedelta(days=366)
