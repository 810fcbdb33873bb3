"""TechEmpower's six tests."""

import random

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from benchmark.models import Fortune, World

WORLDS = 10_000
MOST_QUERIES = 500


def plaintext(request: HttpRequest) -> HttpResponse:
    return HttpResponse("Hello, World!", content_type="text/plain")


def message(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"message": "Hello, World!"})


def single(request: HttpRequest) -> JsonResponse:
    return JsonResponse(answer(World.objects.get(pk=random_number())))


def several(request: HttpRequest) -> JsonResponse:
    worlds = [World.objects.get(pk=random_number()) for _ in range(count(request))]
    return JsonResponse([answer(world) for world in worlds], safe=False)


@transaction.atomic
def updates(request: HttpRequest) -> JsonResponse:
    # In order, so that two requests that update the same rows wait for each other and do not deadlock.
    ids = sorted(random.sample(range(1, WORLDS + 1), count(request)))
    worlds = [World.objects.get(pk=id) for id in ids]
    for world in worlds:
        world.randomnumber = random_number()
        world.save()
    return JsonResponse([answer(world) for world in worlds], safe=False)


def fortunes(request: HttpRequest) -> HttpResponse:
    added = Fortune(id=0, message="Additional fortune added at request time.")
    found = sorted([*Fortune.objects.all(), added], key=lambda fortune: fortune.message)
    return render(request, "fortunes.html", {"fortunes": found})


def answer(world: World) -> dict[str, int]:
    return {"id": world.id, "randomNumber": world.randomnumber}


def count(request: HttpRequest) -> int:
    """How many were asked for, within 1 and 500; what is no number is 1."""
    try:
        return min(max(int(request.GET.get("queries", 1)), 1), MOST_QUERIES)
    except ValueError:
        return 1


def random_number() -> int:
    return random.randint(1, WORLDS)
