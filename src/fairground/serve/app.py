"""The application: the lab's own page with what goes on, the site of all records, and the few things that one can ask for."""

from __future__ import annotations

import asyncio
import json
import mimetypes
import os
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from fairground import records
from fairground.lab import lists
from fairground.lab.places import Places
from fairground.model import LabError, foreign
from fairground.model.record import RecordKind
from fairground.records.site_folder import SiteFolder
from fairground.report import frame
from fairground.report.run import page
from fairground.serve import asked
from fairground.serve.guard import Guard
from fairground.serve.job import JobProcess, LabJob
from fairground.serve.picture import RunPicture
from fairground.serve.watch import RunWatch, held_of, latest

LOOK_S = 0.5
"""Seconds between two looks at what is new for a browser that watches."""
LOADED = ("warmup", "window")
"""Phases of a trial in which its server is loaded."""
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
        self._starter = ThreadPoolExecutor(1)
        """The thread that starts processes, as long as the lab lives: they are interrupted when it ends."""
        self._word = places.results / records.SERVE_WORD
        self._before = JobProcess.read(self._word)
        self._held: Path | None = None
        """The record that was measured into at the last look; None where there was none."""
        self._trouble = ""
        """Why no pages are written; empty where they are."""
        self._unseen = ""
        """Why the run that is watched is not shown; empty where it is."""
        self._watch: RunWatch | None = None
        self._picture = RunPicture()
        self.measures = True
        """True if something is measured, as of half a second ago."""
        self._drawer = threading.Thread(target=self._draw_when_quiet, daemon=True)
        self._drawer.start()

    def begin(self, words: Sequence[str]) -> None:
        """Start a measurement. LabError while one goes on."""
        with self._beginning:
            if self._measures():
                raise LabError("a measurement goes on, and two would disturb each other", "stop it, or wait for its end")
            if self._pages is not None:
                self._pages.wait()
            self._job = self._start(words)
            self._job.process.write(self._word)

    def stop(self) -> None:
        """End the measurement, if there is one; what is finished is kept."""
        for one in (self._job, self._before):
            if one is not None:
                one.stop()

    def close(self) -> None:
        """End everything that was started here, and wait for it."""
        self._closed.set()
        self._drawer.join()
        for job in (self._job, self._pages):
            if job is not None:
                job.stop()
                job.wait()
        self._starter.shutdown()
        if self._job is not None and JobProcess.read(self._word) is None:  # else it is that of another server
            self._word.unlink(missing_ok=True)

    def _start(self, words: Sequence[str]) -> LabJob:
        return self._starter.submit(LabJob, words, self.places.environ).result()

    def _measures(self) -> bool:
        """True if something is measured: begun here, by another server of these results, or by anybody else.

        What another server began has no record while it builds: the word of it is read anew each time.
        """
        if self._job is not None and self._job.running:
            return True
        self._before = JobProcess.read(self._word)
        if self._before is not None and self._before.running:
            return True
        self._held = held_of(self.places.results, self._held)
        return self._held is not None

    def state(self) -> dict[str, Any]:
        """All that the page shows: the measurement begun here, and the run that was written to last."""
        with self._looking:
            job = self._job.state() if self._job is not None else None
            folder = Path(job["folder"]) if job is not None and job["folder"] else None
            begins = job is not None and job["code"] is None and folder is None
            run, goes_on = (None, False) if begins or _is_other(folder) else self._run(folder)
            before = self._before  # read once: the drawer looks anew at any time
            here = (job is not None and job["code"] is None) or (before is not None and before.running)
            measures = here or goes_on
            seen = folder or (self._watch.folder if run is not None and self._watch is not None else None)
            return {
                "job": job,
                "run": run,
                "here": here,
                "goes_on": measures,
                "drawing": self._is_drawing,
                "drawn": self._follow(measures, job) if run is not None else "",
                "trouble": self._trouble or self._unseen,
                "page": "" if measures or seen is None else self._page_of(seen),
            }

    def _page_of(self, folder: Path) -> str:
        """The address of a record's page in the site; empty where it is not written."""
        pages = (shape.page for shape in records.SHAPES.values())
        return next((f"/site/{folder.name}/{name}" for name in pages if (self.site / folder.name / name).is_file()), "")

    def picture(self) -> str:
        """The grid and the bars that were drawn last, as a part of a page."""
        with self._looking:
            return self._picture.text

    def _follow(self, measures: bool, job: Mapping[str, Any] | None) -> str:
        """Draw the run that is watched where this is the moment. What is drawn, in a word that is another with each picture."""
        assert self._watch is not None, "it was looked at just now"
        try:
            now = job["now"] if job is not None else None
            self._picture.follow(self._watch, measures, now is not None and now.get("phase") in LOADED)
        except Exception as error:  # its folder was removed, or holds something else now: a record may come from anywhere
            self._lose(error)
        return self._picture.version

    def _run(self, folder: Path | None) -> tuple[dict[str, Any] | None, bool]:
        """A run's state and whether it goes on; without a `folder` the last one's. Nothing of one that is damaged or removed."""
        self._unseen = ""
        try:
            folder = folder or latest(self.places.results)
            if folder is None:
                return None, False
            if self._watch is None or self._watch.folder != folder:
                self._watch = RunWatch(folder)
            return self._watch.state(), self._watch.goes_on
        except Exception as error:  # as above: whatever is wrong with one record, the lab goes on
            self._lose(error)
            return None, False

    def _lose(self, error: Exception) -> None:
        """Watch no run, and say why."""
        self._watch, self._unseen = None, foreign.line(f"the run cannot be shown ({type(error).__name__}: {error})")

    def _draw_when_quiet(self) -> None:
        """Look again and again, as long as the lab lives, whether there are pages to write."""
        while not self._closed.wait(LOOK_S):
            try:
                self._draw()
            except Exception as error:  # what cannot be read now may be readable at the next look: this thread has to live
                self._trouble = foreign.line(f"pages are not written now: {error or type(error).__name__}")

    def _draw(self) -> None:
        """Write the pages of records that are new, if nothing is measured. One that failed is told until one succeeds."""
        with self._beginning:
            self.measures = self._measures()
            if self.measures or self._is_drawing:
                return
            if self._pages is not None and not self._closed.is_set():
                said = self._pages.state()
                self._trouble = f"pages are not written: {(said['said'] or ['?'])[-1]}" if said["code"] else ""
            there = _stamp(self.places.results)
            if there != self._drawn:
                self._drawn = there
                self._pages = self._start(("report", "--site", str(self.site), "--results", str(self.places.results), "--json"))

    @property
    def _is_drawing(self) -> bool:
        return self._pages is not None and self._pages.running


def _is_other(folder: Path | None) -> bool:
    """True for the record of something else than a run, which has a page and no picture."""
    try:
        return folder is not None and records.kind_of(folder) not in (None, RecordKind.RUN)
    except LabError:
        return False


def _stamp(results: Path) -> object:
    """Another one whenever a record was begun, has ended or was removed."""
    found = []
    for path in results.glob("*"):
        if not path.name.startswith("."):
            try:
                found += [(path.name, path.stat().st_mtime_ns)] if path.is_dir() else []
            except OSError:
                continue  # removed in the meantime
    return sorted(found)


class SitePages(StaticFiles):
    """The files of the site, each read whole from one open file.

    The lab replaces pages while browsers load them. `StaticFiles` tells the length of the file that it looked at and then sends
    the one that it opens: a page that was replaced in between never ends.
    """

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Any, status_code: int = 200
    ) -> Response:
        """The file's bytes as they are now; 404 if it is gone."""
        try:
            content = Path(full_path).read_bytes()
        except FileNotFoundError:
            raise HTTPException(404) from None
        kind, _encoding = mimetypes.guess_type(full_path)
        return Response(content, status_code, media_type=kind or "application/octet-stream")


def application(places: Places, site: Path, token: str, hosts: Sequence[str]) -> tuple[Guard, Lab]:
    """The guarded application, and the lab behind it, which whoever serves it closes at the end."""
    SiteFolder(site)  # a link, or a folder of something else, is refused
    lab = Lab(places, site)
    script, digest = frame.script_of("live.js")
    known = asked.Known.of(places)
    stacks = _stacks(places)

    async def home(_request: Request) -> Response:
        first = await asyncio.to_thread(lab.state)
        drawn = Markup(await asyncio.to_thread(lab.picture))
        return HTMLResponse(
            frame.render("live.html", script=script, script_hash=digest, stacks=stacks, known=known, first=first, drawn=drawn)
        )

    async def picture(_request: Request) -> Response:
        return HTMLResponse(await asyncio.to_thread(lab.picture))

    async def begin(request: Request) -> Response:
        return await _asked(request, lambda document: lab.begin(asked.words(document, known, places)))

    async def stop(request: Request) -> Response:
        return await _asked(request, lambda _document: lab.stop())

    async def events(_request: Request) -> Response:
        return StreamingResponse(_states(lab), media_type="text/event-stream")

    async def records(_request: Request) -> Response:
        return RedirectResponse("/site/index.html")

    routes = [
        Route("/", home),
        Route("/site", records),
        Route("/site/", records),
        Route("/begin", begin, methods=["POST"]),
        Route("/stop", stop, methods=["POST"]),
        Route("/events", events),
        Route("/picture", picture),
        Mount("/site", SitePages(directory=site)),
    ]
    scripts = [frame.script_of(*names)[1] for names in (page.SCRIPTS, frame.FRAMED_SCRIPTS, ("site.js",), ("live.js",))]
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
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return JSONResponse({"error": "the request is longer than any of the lab's page"}, 413)
    except ClientDisconnect:
        return JSONResponse({"error": "the request has no end"}, 400)
    try:
        document = json.loads(body or b"{}")
        json.dumps(document, ensure_ascii=False).encode()  # half of a surrogate pair can be in no answer
    except json.JSONDecodeError:
        return JSONResponse({"error": "the request is not JSON"}, 422)
    except (ValueError, RecursionError):
        return JSONResponse({"error": "the request is not JSON that can be read"}, 400)
    try:
        if not isinstance(document, Mapping):
            raise LabError("the request is not a JSON object", "use the lab's page")
        await asyncio.to_thread(act, document)
    except LabError as error:
        return JSONResponse({"error": error.message, "hint": error.hint}, 422)
    return JSONResponse({"done": True})


def _stacks(places: Places) -> list[Mapping[str, Any]]:
    """Stacks with why one is not runnable here."""
    return [{"id": row["id"], "state": row["state"]} for row in lists.rows("stacks", places)]
