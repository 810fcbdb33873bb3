"""The folder of a site: what the lab has made in it, and nothing else, is written and removed.

A folder of results may come from somebody else, with a site in it. So no name in it is trusted, and no link is followed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from fairground.model import LabError, storing
from fairground.records import journal

MARK = ".fairground-site"
"""A file in each site, with what it holds: a folder without it that is not empty is somebody's own."""
MADE = ".fairground-made"
"""An empty file in each folder of a site that the lab has made: no other is removed."""


class SiteFolder:
    """A folder that is a site, or becomes one. LabError for a link, and for a folder of something else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        journal.require_no_link(path)
        with storing(path):
            if path.exists() and not path.is_dir():
                raise LabError(f"`{path}` is a file, and a site is a folder", "name another folder")
            if path.is_dir() and any(path.iterdir()) and not (path / MARK).exists():
                raise LabError(f"`{path}` holds something else than a site", "name an empty or new folder")
        if not (path / MARK).exists():
            self.put(MARK, "")

    @property
    def list_text(self) -> bytes:
        """The list of what the site holds, as it was written last; it may be anybody's."""
        journal.require_no_link(self.path / MARK)
        return journal.content_of(self.path / MARK)

    def put(self, place: str, text: str) -> None:
        """Write a page. LabError for a place outside of the site, and for a link on the way."""
        folder = place.rpartition("/")[0].partition("/")[0]
        if folder and not self._is_somebodys(folder):
            journal.put(self.path, f"{folder}/{MADE}", "")
        journal.put(self.path, place, text)

    def holds(self, folder: str, page: str) -> bool:
        """True if a page is there that the lab has made."""
        return self._is_made(folder) and journal.is_plain(page) and (self.path / folder / page).is_file()

    def forget(self, name: str) -> None:
        """Remove a folder that the lab has made here; what somebody else put beside it stays."""
        if self._is_made(name):
            with storing(self.path):
                shutil.rmtree(self.path / name)

    def _is_made(self, name: str) -> bool:
        """True if a folder of this name is in the site, which the lab has made, and is no link."""
        folder = self.path / name
        return journal.is_plain(name) and not folder.is_symlink() and _is_file(folder / MADE)

    def _is_somebodys(self, name: str) -> bool:
        """True if a folder of this name was there before the lab wrote to it."""
        folder = self.path / name
        return journal.is_plain(name) and folder.is_dir() and not _is_file(folder / MADE)


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
