"""`GET /users` as the author of the benchmark with the Caesar cipher wrote it."""

from documented import app as documented

from published import users


class App(documented.App):
    pool_least = 100
    """His pool opens all of its connections at once."""

    def users(self) -> bytes:
        return users.answer(self.rows(documented.USERS))


def application() -> App:
    """What gunicorn calls in each worker, once."""
    return App()
