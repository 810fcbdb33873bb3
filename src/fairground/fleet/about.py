"""The facts that a host tells when it joins, and which hosts can measure one run together. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fairground.model import LabError, Machine, Seats

PROTOCOL = 1
"""The version of orders and answers between the lab and its hosts. A host with another one is told, and not used."""
ROLES = ("server", "database", "generator")
"""The roles that a host may take on. One that measures a share by itself takes all of them."""
EVERY_SERVER = "all"
HASH = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class About:
    """A host in its own words. `allowed`: the hashes of the sources that its owner lets it run, and servers by id, or `all`."""

    protocol: int
    version: str
    """The version of the lab on it."""
    name: str
    machine: Machine
    architecture: str
    roles: tuple[str, ...]
    programs: tuple[str, ...]
    """The toolchains on its PATH."""
    seats: Seats
    allowed: tuple[str, ...]

    def to_json(self) -> str:
        """The JSON that the scheduler is told."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> About:
        """Read what a host told of itself. LabError where it cannot be read: the other side is no host of this lab."""
        from pydantic import TypeAdapter, ValidationError

        try:
            return TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            raise LabError(
                "a host says of itself what this lab cannot read", "install one version of the lab on all hosts"
            ) from error

    def allows(self, server: str, digest: str) -> bool:
        """True if the owner lets this host run a server with these sources. An allowed hash is of sources, and nobody's id."""
        named = server in self.allowed and HASH.fullmatch(server) is None
        return named or EVERY_SERVER in self.allowed or digest in self.allowed

    def unfit(self, version: str, roles: Sequence[str] = ROLES) -> str | None:
        """The reason why the host cannot take these roles for a lab of this version; None: it can."""
        if self.protocol != PROTOCOL:
            return f"it speaks protocol {self.protocol}, and this lab {PROTOCOL}"
        if self.version != version:
            return f"it has fairground {self.version}, and this lab is {version}"
        lacking = [role for role in roles if role not in self.roles]
        return f"it does not take the role {lacking[0]}" if lacking else None


def kind(machine: Machine) -> Mapping[str, Any]:
    """The facts that two machines must share to measure one run: all of the fingerprint but the host's name."""
    return asdict(replace(machine, hostname_hash=""))


def groups(hosts: Sequence[About]) -> list[list[About]]:
    """The hosts by kind of machine: the largest group first, and of equal ones that which joined first."""
    found: list[list[About]] = []
    for one in hosts:
        same = next((group for group in found if kind(group[0].machine) == kind(one.machine)), None)
        if same is None:
            found.append([one])
        else:
            same.append(one)
    return sorted(found, key=len, reverse=True)
