"""`GET /users` as the author of the benchmark with the Caesar cipher wrote it; the rest is the documented application."""

from documented.app import app, connect
from flask import Response
from psycopg.rows import dict_row

from published import users

__all__ = ["app"]


def published_users() -> Response:
    with connect() as connection, connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id").fetchall()
    return Response(users.answer(rows), content_type="application/json")


app.view_functions["users"] = published_users
