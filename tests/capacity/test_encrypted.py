"""`try` by https: what is said of handshakes and certificates, and of a scheme that is not the service's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import quiet
from builders.encrypted import Frames, encrypted, paper
from builders.service import served
from fairground.capacity.service import behaviour
from fairground.capacity.service.behaviour import Encrypted
from fairground.capacity.service.request import Asked
from fairground.contract import encryption
from fairground.model import LabError, Severity
from fairground.model.wire import Tls

pytestmark = pytest.mark.live


def asked(port: int, tls: Tls | None) -> Asked:
    """A request to a service of ours."""
    return Asked("127.0.0.1", port, f"localhost:{port}", "GET", "/", tls=tls)


def attempt(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `try` with these words."""
    environment = os.environ | {"PYTHONPATH": quiet.PATH, "CI": "1", "NO_COLOR": "1"} | environ
    return subprocess.run(
        [sys.executable, "-m", "fairground", "try", *words], env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    ("shows", "name", "trusted", "says"),
    [
        ("good", "localhost", "authority", "the certificate is for `localhost`"),
        ("good", "127.0.0.1", "authority", "the certificate is for `127.0.0.1`"),
        ("self-signed", "localhost", "self-signed", "the certificate is for `localhost`"),
        ("expired", "localhost", None, "the certificate was not checked"),
        ("other-name", "localhost", None, "the certificate was not checked"),
    ],
)
def test_checks_go_by_tls(shows: str, name: str, trusted: str | None, says: str) -> None:
    """A service by TLS passes the checks of any other, and a certificate that nobody checked is a warning."""
    tls = Tls(name, insecure=True) if trusted is None else Tls(name, paper(trusted))
    severity = Severity.WARN if trusted is None else Severity.NOTE
    with encrypted(shows) as port:
        found = behaviour.examine(asked(port, tls))
    first, *others = found.findings
    assert (
        (first.id, first.severity) == ("tls", severity) and first.sentence.startswith("TLS 1.3, TLS_") and says in first.sentence
    )
    assert {one.id: one.severity for one in others}["split"] is Severity.NOTE and found.broken == ()
    assert (found.status, found.body, found.kept_open) == (200, b"hello", True)


@pytest.mark.parametrize(
    ("shows", "trusted", "says", "hint"),
    [
        ("expired", "authority", "its certificate has expired", "renew it"),
        ("other-name", "authority", "its certificate is not for `localhost`", "ask by a name that it is for"),
        ("self-signed", "authority", "its certificate is self-signed", "--ca FILE"),
        ("good", "stranger", "no authority that is trusted here signed its certificate", "--ca FILE"),
    ],
)
def test_certificates_that_are_not_believed(shows: str, trusted: str, says: str, hint: str) -> None:
    """What is wrong with a certificate has a sentence of its own, with what to do; the input is wrong, and not the service away."""
    with encrypted(shows) as port, pytest.raises(LabError) as caught:
        behaviour.examine(asked(port, Tls("localhost", paper(trusted))))
    assert f"got no answer: {says}" in caught.value.message
    assert hint in (caught.value.hint or "") and "--insecure" in (caught.value.hint or "") and caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("protocols", "chosen", "says"),
    [
        (("h2", "http/1.1"), "h2", "chooses HTTP/2, which is not measured: all of this is HTTP/1.1"),
        (("http/1.1",), "http/1.1", "chooses HTTP/1.1, where HTTP/2 is offered, too"),
        ((), "", "chooses no protocol by ALPN"),
    ],
)
def test_what_a_browser_would_speak(protocols: tuple[str, ...], chosen: str, says: str) -> None:
    """A service that also speaks HTTP/2 is asked in HTTP/1.1, and the checks say so."""
    with encrypted("good", protocols) as port:
        found = behaviour.examine(asked(port, Tls("localhost", paper("authority"))))
    (alpn,) = [one for one in found.findings if one.id == "alpn"]
    assert alpn.severity is Severity.NOTE and says in alpn.sentence and alpn.evidence == {"protocol": chosen}
    assert found.body == b"hello"


def test_a_choice_that_nobody_saw_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the handshake that asks for it fails, no choice is made up."""
    monkeypatch.setattr(encryption.socket, "create_connection", refused)
    assert encryption.chosen_protocol("localhost", 1, Tls("localhost", paper("authority"))) is None
    monkeypatch.undo()
    monkeypatch.setattr(behaviour, "chosen_protocol", lambda *_: None)
    with encrypted("good") as port:
        found = behaviour.examine(asked(port, Tls("localhost", paper("authority"))))
    (alpn,) = [one for one in found.findings if one.id == "alpn"]
    assert "is not known" in alpn.sentence and alpn.evidence == {"protocol": None}


def refused(*_: object, **__: object) -> None:
    """A connection that nobody takes."""
    raise ConnectionRefusedError


def test_a_service_of_http_2_alone() -> None:
    """What cannot be asked in HTTP/1.1 gives no answer, and the hint says why; where HTTP/2 is not offered, it does not."""
    tls = Tls("localhost", paper("authority"))
    with encrypted("good", ("h2",), Frames) as port, pytest.raises(LabError) as caught:
        behaviour.examine(asked(port, tls))
    assert caught.value.exit_code == 3 and "chooses HTTP/2, and `try` asks in HTTP/1.1" in (caught.value.hint or "")
    with encrypted("good", answers=Frames) as port, pytest.raises(LabError) as other:
        behaviour.examine(asked(port, tls))
    assert "HTTP/2" not in (other.value.hint or "")


def test_the_other_scheme() -> None:
    """A service by TLS that is asked in plain HTTP says so, and the other way round; the hint has the right scheme."""
    with encrypted("good") as port, pytest.raises(Encrypted, match="speaks TLS, and was asked in plain HTTP") as caught:
        behaviour.examine(asked(port, None))
    assert caught.value.exit_code == 2 and f"https://localhost:{port}" in (caught.value.hint or "")
    with served("null") as port, pytest.raises(LabError, match="speaks plain HTTP, and was asked by TLS") as other:
        behaviour.examine(asked(port, Tls("localhost", insecure=True)))
    assert other.value.exit_code == 2 and f"http://localhost:{port}" in (other.value.hint or "")


def test_a_guess_goes_on_by_tls(tmp_path: Path) -> None:
    """`localhost:8443` is tried in plain HTTP, then by TLS where the service speaks nothing else; a scheme that is written stands."""
    words = ("--no-load", "--results", str(tmp_path), "--json")
    with encrypted("good") as port:
        done = attempt(f"localhost:{port}", *words, SSL_CERT_FILE=paper("authority"))
        told = attempt(f"http://localhost:{port}", *words)
        bold = attempt(f"localhost:{port}", "--insecure", *words)
        unknown = attempt(f"localhost:{port}", *words, SSL_CERT_FILE=paper("stranger"))
    assert done.returncode == 0, done.stderr
    assert f"the service speaks TLS, so this goes on with https://localhost:{port}/" in done.stderr
    assert json.loads(done.stdout)["url"] == f"https://localhost:{port}/"
    assert told.returncode == 2 and "was asked in plain HTTP" in told.stderr
    assert unknown.returncode == 2 and "no authority that is trusted here" in unknown.stderr and "--insecure" in unknown.stderr
    assert bold.returncode == 0 and f"is taken for https://localhost:{port}/" in bold.stderr
    assert len(list(tmp_path.iterdir())) == 2, "what was not measured leaves no record"


def test_a_load_by_tls(tmp_path: Path) -> None:
    """Closed loops and curve go by TLS; each kept connection has one handshake, told apart in JSON, terminal and page."""
    with encrypted("good") as port:
        url = f"https://localhost:{port}/"
        words = ("--window", "1", "--slo", "p50<2s,errors<50%", "--results", str(tmp_path), "--json")
        done = attempt(url, "--ca", paper("authority"), *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["connections"] for one in found["closed"]] == [1, 10, 100]
    for one in found["closed"]:
        assert one["goodput_per_s"] > 0 and one["not_ok"] == 0
        assert one["handshakes"]["count"] == one["connections"] and one["handshakes"]["failed"] == 0
        assert one["handshakes"]["version"] == "TLS 1.3" and one["handshakes"]["p50_us"] > 0
    assert any(sentence.startswith("A TLS handshake takes ") for sentence in found["sentences"])
    page = (Path(found["folder"]) / "try.html").read_text()
    assert 'id="t-handshakes"' in page and "the certificate is for `localhost`" in page


def test_what_openssl_says() -> None:
    """A failed handshake that is no certificate's fault is told in words."""
    tls = Tls("localhost")
    assert encryption.trouble(TimeoutError("timed out"), tls) == ("handshake", "the TLS handshake did not end in time")
    assert encryption.trouble(ConnectionResetError(104, "Connection reset by peer"), tls) == (
        "handshake", "the TLS handshake failed (connection reset by peer)"
    )  # fmt: skip
