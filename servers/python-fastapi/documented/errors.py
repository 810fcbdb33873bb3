"""Every error as the contract's object, by exception handlers."""

from collections.abc import Callable

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException


def add_handlers(app: FastAPI, no_connection: type[Exception], database: tuple[type[Exception], ...]) -> None:
    """`no_connection` is what the pool raises when none is free in time, `database` all other errors of the driver."""

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"ok": False, "message": error.detail}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"ok": False, "message": "; ".join(one["msg"] for one in error.errors())}, 422)

    @app.exception_handler(no_connection)
    async def busy(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"ok": False, "message": "no connection in time"}, 503, {"retry-after": "1"})

    async def failed(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"ok": False, "message": "the database failed"}, 500)

    add: Callable[..., None] = app.add_exception_handler
    for kind in database:
        add(kind, failed)
