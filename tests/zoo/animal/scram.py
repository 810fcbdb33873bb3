"""SCRAM-SHA-256 for a client, after RFC 5802 and RFC 7677."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets


class ScramError(Exception):
    """The server is not the one that knows the password."""


class Scram:
    """The client's side of one SCRAM-SHA-256 exchange without channel binding; `user` is empty in PostgreSQL."""

    def __init__(self, user: str, password: str, nonce: str | None = None) -> None:
        self.password = password.encode()
        self.bare = f"n={user},r={nonce or secrets.token_urlsafe(18)}"
        self.signature = b""

    def first(self) -> bytes:
        """The message that opens the exchange."""
        return b"n,," + self.bare.encode()

    def final(self, server_first: bytes) -> bytes:
        """The proof that answers the server's challenge."""
        challenge = dict(part.split("=", 1) for part in server_first.decode().split(","))
        if not challenge["r"].startswith(self.bare.partition(",r=")[2]):
            raise ScramError("the server's nonce does not continue the client's")
        salted = hashlib.pbkdf2_hmac("sha256", self.password, base64.b64decode(challenge["s"]), int(challenge["i"]))
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        without_proof = f"c=biws,r={challenge['r']}".encode()
        signed = b",".join((self.bare.encode(), server_first, without_proof))
        mask = hmac.digest(hashlib.sha256(client_key).digest(), signed, "sha256")
        proof = bytes(a ^ b for a, b in zip(client_key, mask, strict=True))
        self.signature = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), signed, "sha256")
        return without_proof + b",p=" + base64.b64encode(proof)

    def verify(self, server_final: bytes) -> None:
        """Accept the server's signature, or raise `ScramError`."""
        if not hmac.compare_digest(server_final, b"v=" + base64.b64encode(self.signature)):
            raise ScramError("the server's SCRAM signature is wrong")
