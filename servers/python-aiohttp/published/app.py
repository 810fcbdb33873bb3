"""`GET /users` as the author of the benchmark with the Caesar cipher wrote it; the rest is the documented application."""

from aiohttp import web
from documented import app as documented

from published import users


async def published_users(request: web.Request) -> web.Response:
    async with documented.connect(request) as connection:
        rows = await connection.fetch("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
    return web.Response(body=users.answer(rows), content_type="application/json")


async def create_app() -> web.Application:
    return await documented.create_app(published_users)
