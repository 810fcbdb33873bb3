"""Addresses of schedulers, and the certificate that all who take part in a fleet share.

The certificate is its own authority: who has the folder belongs to the fleet, and nobody else gets an answer. It names no host,
since hosts come and go.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from fairground.model import LabError, storing

CERTIFICATE, KEY = "certificate.pem", "key.pem"
PORT = 8786
VALID_DAYS = 365
COPY = "copy the folder that `./fairground host serve` made, and name it: --tls DIR"


@dataclass(frozen=True)
class SchedulerAddress:
    """The address of a scheduler. `tls`: all of its connections are encrypted, on both sides with the fleet's certificate."""

    host: str
    port: int
    tls: bool

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls' if self.tls else 'tcp'}://{host}:{self.port}"


def address(text: str, folder: Path | None = None) -> SchedulerAddress:
    """Read `tls://10.0.0.5:8786`, `10.0.0.5` or `127.0.0.1:8786`. Beyond loopback, and where a folder is named, it is TLS.

    LabError for what is no address, for all addresses at once, and for one beyond loopback without TLS.
    """
    scheme, _, rest = text.rpartition("://")
    try:
        parts = urlsplit(f"//{rest}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if scheme not in ("", "tcp", "tls") or not host or parts.path or parts.username:
        raise LabError(f"`{text}` is not the address of a scheduler", "for instance 127.0.0.1:8786, or tls://10.0.0.5:8786")
    if host in ("0.0.0.0", "::"):
        raise LabError(f"`{text}` stands for every address; a scheduler listens on one", "name the address that hosts can reach")
    if scheme == "tcp" and not _is_loopback(host):
        raise LabError(
            f"`{text}` is beyond loopback and not encrypted: whoever reaches it could run programs on all hosts",
            f"tls://{rest}",
        )
    tls = scheme == "tls" or (scheme == "" and (folder is not None or not _is_loopback(host)))
    return SchedulerAddress(host, PORT if port is None else port, tls)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Certificate:
    """The files of a fleet's certificate and its key."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / CERTIFICATE

    @property
    def key(self) -> Path:
        return self.folder / KEY

    @property
    def is_there(self) -> bool:
        """True if both files are there."""
        return self.certificate.is_file() and self.key.is_file()


def of_fleet(folder: Path) -> Certificate:
    """The certificate in a folder. LabError where there is none."""
    found = Certificate(folder)
    if not found.is_there:
        raise LabError(f"`{folder}` holds no certificate of a fleet: `{CERTIFICATE}` and `{KEY}`", COPY)
    _check(found, datetime.now(UTC))
    return found


def _check(found: Certificate, now: datetime) -> None:
    """LabError for a key that others can read, and for a certificate that is not valid now."""
    if found.key.stat().st_mode & 0o077:
        raise LabError(f"others than its owner can use `{found.key}`: who has it belongs to the fleet", f"chmod 600 {found.key}")
    from cryptography import x509

    try:
        one = x509.load_pem_x509_certificate(found.certificate.read_bytes())
    except ValueError:
        return  # that it cannot be used is told where it is used
    if not one.not_valid_before_utc <= now <= one.not_valid_after_utc:
        since = "expired on" if now > one.not_valid_after_utc else "is valid from"
        day = one.not_valid_after_utc if now > one.not_valid_after_utc else one.not_valid_before_utc
        raise LabError(
            f"the certificate in `{found.folder}` {since} {day:%Y-%m-%d}, and this machine's clock says {now:%Y-%m-%d %H:%M} UTC",
            "set the clock, or make another one, `./fairground host serve --tls` with a new folder, and copy it to all hosts",
        )


def expiry_of(found: Certificate) -> datetime:
    """The moment when a certificate ends."""
    from cryptography import x509

    return x509.load_pem_x509_certificate(found.certificate.read_bytes()).not_valid_after_utc


def link(text: str, folder: Path | None) -> tuple[SchedulerAddress, Certificate | None]:
    """The address of a scheduler, and the certificate for it. LabError for no address, and where a certificate is lacking."""
    at = address(text, folder)
    if not at.tls:
        return at, None
    if folder is None:
        raise LabError(f"`{at}` needs the fleet's certificate", COPY)
    return at, of_fleet(folder)


def make_certificate(folder: Path) -> Certificate:
    """The certificate in a folder, made there if there is none; only its owner may read the key.

    LabError where one of its two files is there alone: it may be somebody else's.
    """
    found = Certificate(folder)
    if found.is_there:
        return of_fleet(folder)
    for alone, other in ((found.key, CERTIFICATE), (found.certificate, KEY)):
        if os.path.lexists(alone):
            raise LabError(f"`{alone}` stands without `{other}`: it is no fleet's, and is left as it is", "name a new folder")
    with storing(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        certificate, key = _new(datetime.now(UTC))
        for path, mode, text in ((found.key, 0o600, key), (found.certificate, 0o644, certificate)):
            with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, mode), "wb") as file:
                file.write(text)
    return found


def _new(now: datetime) -> tuple[bytes, bytes]:
    """A certificate that vouches for itself, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fairground fleet")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clocks of hosts differ
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain),
    )
