"""What requests hold and what answers look like."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, Field, field_serializer

INT4_MAX = 2147483647
Id = Annotated[int, Query(ge=1, le=INT4_MAX)]
Delta = Annotated[int, Query(ge=-INT4_MAX - 1, le=INT4_MAX)]
ItemId = Annotated[int, Path(ge=1, le=INT4_MAX)]
After = Annotated[int, Query(ge=0, le=INT4_MAX)]
Number = Annotated[int, Field(ge=0, le=INT4_MAX)]
Sender = Annotated[int, Query(alias="from", ge=1, le=INT4_MAX)]

UPPER, LOWER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
CAESAR = bytes.maketrans(UPPER + LOWER, UPPER[14:] + UPPER[:14] + LOWER[14:] + LOWER[:14])


class Message(BaseModel):
    ok: bool
    message: str


class Done(BaseModel):
    ok: bool = True


class ServerTime(BaseModel):
    serverTime: int


class User(BaseModel):
    id: int
    username: str
    name: str
    sex: str
    address: str
    mail: str
    birthdate: datetime

    @field_serializer("address")
    def cipher(self, address: str) -> str:
        return address.encode().translate(CAESAR).decode()

    @field_serializer("birthdate")
    def in_iso_8601(self, birthdate: datetime) -> str:
        return birthdate.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class AccountId(BaseModel):
    account_id: str


class Account(BaseModel):
    account_id: str
    name: str
    email: str
    plan: str
    currency: str
    balance_cents: int
    active: bool
    created_at: str
    region: str
    note: str


class NewItem(BaseModel):
    name: str = Field(min_length=1)
    price_cents: Number
    stock: Number


class Item(BaseModel):
    id: int
    name: str
    price_cents: int
    stock: int
    revision: int
