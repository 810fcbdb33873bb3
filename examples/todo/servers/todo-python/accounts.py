"""Passwords, and the tokens that a login gives: signed, so that no request asks the database who sent it."""

import asyncio
import hashlib
import hmac
import os
from datetime import UTC, datetime, timedelta
from typing import Annotated

import jwt
from fastapi import Depends, HTTPException
from fastapi.security import OAuth2PasswordBearer

SECRET = os.environ["JWT_SECRET"]
ALGORITHM = "HS256"
VALID = timedelta(days=1)

bearer = OAuth2PasswordBearer(tokenUrl="login")


async def is_password(password: str, stored: str) -> bool:
    """Whether it is the one that is stored. Hashing takes long on purpose, so another thread does it."""
    _, salt, digest = stored.split(":")
    found = await asyncio.to_thread(
        hashlib.scrypt, password.encode(), salt=bytes.fromhex(salt), n=16384, r=8, p=1, dklen=len(digest) // 2
    )
    return hmac.compare_digest(found.hex(), digest)


def new_token(person: int) -> str:
    return jwt.encode({"sub": str(person), "exp": datetime.now(UTC) + VALID}, SECRET, ALGORITHM)


async def logged_in(token: Annotated[str, Depends(bearer)]) -> int:
    """The person whose token it is."""
    try:
        return int(jwt.decode(token, SECRET, [ALGORITHM])["sub"])
    except (jwt.InvalidTokenError, KeyError, ValueError):
        raise HTTPException(401, "log in first", {"www-authenticate": "Bearer"}) from None


Person = Annotated[int, Depends(logged_in)]
