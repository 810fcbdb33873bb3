"""The benchmark of five services: texts that are ready before the request, as `Response`s; the rest is the documented application."""

import time

from app_asyncpg import app
from fastapi import APIRouter, Response

PING = b'{"ok":true,"message":"OK"}'
CONTENT_TYPE = "application/json; charset=utf-8"

router = APIRouter()


@router.get("/ping")
async def ping() -> Response:
    return Response(content=PING, media_type=CONTENT_TYPE)


@router.get("/time")
async def server_time() -> Response:
    return Response(content=f'{{"serverTime":{int(time.time())}}}'.encode(), media_type=CONTENT_TYPE)


# Of two routes for one path the first is taken.
app.router.routes[:0] = router.routes
