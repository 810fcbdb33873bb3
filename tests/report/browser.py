"""Headless chromium of the system under Playwright, which downloads none. Pages are asked over the DevTools protocol."""

from __future__ import annotations

import shutil
from collections import deque
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from playwright.sync_api import BrowserContext, CDPSession, sync_playwright

FLAGS = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
)
EVENTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Network.requestWillBeSent")
"""What is kept of what a page does."""
PATIENCE_MS = 60_000


def chromium() -> str | None:
    """The browser's program, or None where there is none."""
    return next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


class Browser:
    """One browser with one page at a time. `events` holds what the page did since the last `open`."""

    def __init__(self, program: str) -> None:
        self.events: deque[tuple[str, dict[str, Any]]] = deque()
        self._held = ExitStack()
        playwright = self._held.enter_context(sync_playwright())
        self._browser = playwright.chromium.launch(executable_path=program, args=FLAGS, chromium_sandbox=False)
        self._held.callback(self._browser.close)
        self._context: BrowserContext | None = None
        self._session: CDPSession | None = None

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._held.close()

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
        """Load a page afresh in a window of this size, with nothing but cookies of the one before; wait until it is loaded."""
        kept = None
        if self._context is not None:
            kept = self._context.storage_state()
            self._context.close()
        self.events.clear()
        self._context = self._browser.new_context(
            viewport={"width": width_px, "height": height_px},
            is_mobile=width_px < 500,
            java_script_enabled=scripts,
            color_scheme="dark" if dark else "light",
            storage_state=kept,
        )
        page = self._context.new_page()
        self._session = self._context.new_cdp_session(page)
        for event in EVENTS:
            self._session.on(event, lambda told, event=event: self.events.append((event, told)))
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        page.goto(address, timeout=PATIENCE_MS)
        if media:
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; works with the page's own scripts off."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def unfold(self) -> None:
        """Open every fold. Text in a closed one is not told, nor its size."""
        self.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")

    def press(self, key: str) -> None:
        """A key, as a person presses it."""
        assert self._context is not None
        self._context.pages[0].keyboard.press(key)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command to the page."""
        assert self._session is not None, "no page is open"
        return dict(self._session.send(method, parameters))

    def named(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all events of this name since `open`."""
        return [told for event, told in self.events if event == method]
