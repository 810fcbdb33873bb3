"""What is answered where no connection became free in time."""

from collections.abc import Callable

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from psycopg_pool import PoolTimeout


class BusyMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, OperationalError) and isinstance(error.__cause__, PoolTimeout):
            return HttpResponse("no connection in time", status=503, headers={"Retry-After": "1"})
        return None
