"""`GET /users` as the author of the benchmark with the Caesar cipher wrote it."""

from documented import app as documented

from published import users


class App(documented.App):
    pool_least = 100
    """His pool opens all of its connections at once."""

    async def users(self) -> bytes:
        async with self.connect() as connection:
            rows = await connection.fetch(documented.USERS)
        return users.answer(rows)


app = App()
