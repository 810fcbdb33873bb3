"""Headless chromium over the DevTools protocol's pipe: no driver, no package, no port. Only what the page's tests need."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--remote-debugging-pipe",
)
PATIENCE_S = 60.0


def chromium() -> str | None:
    """The browser's program, or None where there is none."""
    return next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


class Browser:
    """One browser with one page. `events` holds every event of the page since the last `open`."""

    def __init__(self, program: str) -> None:
        self.events: deque[dict[str, Any]] = deque()
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._session: str | None = None
        self._child, self._write, self._read = _launched((program, *FLAGS, f"--user-data-dir={self._folder.name}"))
        self._buffer, self._serial = b"", 0
        target = self._command("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._command("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._write)
        os.close(self._read)
        os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._folder.cleanup()

    def open(
        self,
        address: str,
        *,
        width_px: int = 1280,
        height_px: int = 900,
        scripts: bool = True,
        dark: bool = False,
        media: str = "",
    ) -> None:
        """Load a page afresh in a window of this size and wait until it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width_px, height=height_px, deviceScaleFactor=1, mobile=width_px < 500
        )
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        for stop in ("about:blank", address):  # from a blank page, so that a changed hash alone loads the page again
            self.events.clear()
            self.call("Page.navigate", url=stop)
            self._wait("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; works with the page's own scripts off."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command to the page."""
        return self._command(method, parameters)

    def named(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all events of this name since `open`."""
        return [event["params"] for event in self.events if event["method"] == method]

    def _command(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._serial += 1
        message = {"id": self._serial, "method": method, "params": parameters} | (
            {"sessionId": self._session} if self._session else {}
        )
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._serial:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def _wait(self, method: str) -> None:
        while not self.named(method):
            self._message()

    def _message(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"the browser said nothing for {PATIENCE_S:.0f} s"
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message


PLUMBING = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"


def _launched(command: tuple[str, ...]) -> tuple[subprocess.Popen[bytes], int, int]:
    """The browser reads commands from descriptor 3 and writes answers to 4; a small child puts our pipes there and becomes it."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    high = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in (theirs_in, theirs_out)]  # clear of 3 and 4
    words = (sys.executable, "-c", PLUMBING, *map(str, high), *command)
    child = subprocess.Popen(
        words,
        pass_fds=high,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
        cwd=Path(tempfile.gettempdir()),
    )
    for pipe in (theirs_in, theirs_out, *high):
        os.close(pipe)
    return child, ours_out, ours_in
