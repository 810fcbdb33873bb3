"""The application: the lab's own page with what goes on, the site of all records, and the few things that one can ask for."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from fairground.lab import lists
from fairground.lab.places import Places
from fairground.model import LabError
from fairground.report.run import page
from fairground.serve import asked
from fairground.serve.guard import Guard
from fairground.serve.job import LabJob
from fairground.serve.watch import RunWatch, latest, measuring

LOOK_S = 0.5
"""Seconds between two looks at what is new for a browser that watches."""
MOST_BYTES = 65_536
"""No request of the lab's own page is longer."""


class Lab:
    """The state of one server of pages: at most one measurement, the run that is watched, and the site of the records.

    Pages are written while nothing is measured, whoever began it: drawing takes all cores, and would be measured.
    """

    def __init__(self, places: Places, site: Path) -> None:
        self.places, self.site = places, site
        self._beginning, self._looking = threading.Lock(), threading.Lock()
        self._closed = threading.Event()
        self._job: LabJob | None = None
        self._pages: LabJob | None = None
        self._drawn: object = None
        self._watch: RunWatch | None = None
        self.measures = True
        """True if something is measured, as of half a second ago."""
        self._drawer = threading.Thread(target=self._draw_when_quiet, daemon=True)
        self._drawer.start()

    def begin(self, words: Sequence[str]) -> None:
        """Start a measurement. LabError while one goes on."""
        with self._beginning:
            if self.state()["goes_on"] or measuring(self.places.results):
                raise LabError("a measurement goes on, and two would disturb each other", "stop it, or wait for its end")
            if self._pages is not None:
                self._pages.wait()
            self._job = LabJob(words, self.places.environ)

    def stop(self) -> None:
        """End the measurement, if there is one; what is finished is kept."""
        if self._job is not None:
            self._job.stop()

    def close(self) -> None:
        """End everything that was started here, and wait for it."""
        self._closed.set()
        self._drawer.join()
        for job in (self._job, self._pages):
            if job is not None:
                job.stop()
                job.wait()

    def state(self) -> dict[str, Any]:
        """All that the page shows: the measurement begun here, and the run that was written to last."""
        with self._looking:
            job = self._job.state() if self._job is not None else None
            run, goes_on = self._run(Path(job["folder"]) if job is not None and job["folder"] else None)
            here = job is not None and job["code"] is None
            return {"job": job, "run": run, "here": here, "goes_on": here or goes_on, "drawing": self._is_drawing}

    def _run(self, folder: Path | None) -> tuple[dict[str, Any] | None, bool]:
        """A run's state and whether it goes on; without a `folder` the last one's. Nothing of one that is damaged or removed."""
        try:
            folder = folder or latest(self.places.results)
            if folder is None:
                return None, False
            if self._watch is None or self._watch.folder != folder:
                self._watch = RunWatch(folder)
            return self._watch.state(), self._watch.goes_on
        except (OSError, ValueError, LabError):
            self._watch = None
            return None, False

    def _draw_when_quiet(self) -> None:
        """Write the pages of records that are new, as soon as nothing is measured."""
        words = ("report", "--site", str(self.site), "--results", str(self.places.results), "--json")
        while not self._closed.wait(LOOK_S):
            there = _stamp(self.places.results)
            with self._beginning:
                self.measures = (self._job is not None and self._job.running) or measuring(self.places.results)
                if there != self._drawn and not self.measures and not self._is_drawing:
                    self._drawn = there
                    self._pages = LabJob(words, self.places.environ)

    @property
    def _is_drawing(self) -> bool:
        return self._pages is not None and self._pages.running


def _stamp(results: Path) -> object:
    """Another one whenever a record was begun, has ended or was removed."""
    folders = (path for path in results.glob("*") if path.is_dir() and not path.name.startswith("."))
    return sorted((path.name, path.stat().st_mtime_ns) for path in folders)


def application(places: Places, site: Path, token: str, hosts: Sequence[str]) -> tuple[Guard, Lab]:
    """The guarded application, and the lab behind it, which whoever serves it closes at the end."""
    lab = Lab(places, site)
    script, digest = page.script_of("live.js")
    known = asked.Known.of(places)
    stacks = _stacks(places)

    async def home(_request: Request) -> Response:
        first = await asyncio.to_thread(lab.state)
        return HTMLResponse(page.render("live.html", script=script, script_hash=digest, stacks=stacks, known=known, first=first))

    async def begin(request: Request) -> Response:
        return await _asked(request, lambda document: lab.begin(asked.words(document, known, places)))

    async def stop(request: Request) -> Response:
        return await _asked(request, lambda _document: lab.stop())

    async def events(_request: Request) -> Response:
        return StreamingResponse(_states(lab), media_type="text/event-stream")

    async def records(_request: Request) -> Response:
        return RedirectResponse("/site/index.html")

    site.mkdir(parents=True, exist_ok=True)
    routes = [
        Route("/", home),
        Route("/site", records),
        Route("/site/", records),
        Route("/begin", begin, methods=["POST"]),
        Route("/stop", stop, methods=["POST"]),
        Route("/events", events),
        Mount("/site", StaticFiles(directory=site)),
    ]
    scripts = [page.script_of(*names)[1] for names in (page.SCRIPTS, page.FRAMED_SCRIPTS, ("site.js",), ("live.js",))]
    return Guard(Starlette(routes=routes), token, hosts, scripts), lab


async def _states(lab: Lab) -> AsyncIterator[str]:
    """The state whenever it is another; a line without meaning in between tells a browser that all is well."""
    before = ""
    while True:
        now = json.dumps(await asyncio.to_thread(lab.state))
        yield f"data: {now}\n\n" if now != before else ": nothing new\n\n"
        before = now
        await asyncio.sleep(LOOK_S)


async def _asked(request: Request, act: Any) -> Response:
    """Do what a page asks for; what cannot be done is told in one sentence, with its hint."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            return JSONResponse({"error": "the request is longer than any of the lab's page"}, 413)
    try:
        document = json.loads(body or b"{}")
        if not isinstance(document, Mapping):
            raise LabError("the request is not a JSON object", "use the lab's page")
        await asyncio.to_thread(act, document)
    except json.JSONDecodeError:
        return JSONResponse({"error": "the request is not JSON"}, 422)
    except LabError as error:
        return JSONResponse({"error": error.message, "hint": error.hint}, 422)
    return JSONResponse({"done": True})


def _stacks(places: Places) -> list[Mapping[str, Any]]:
    """Stacks with why one is not runnable here."""
    return [{"id": row["id"], "state": row["state"]} for row in lists.rows("stacks", places)]
