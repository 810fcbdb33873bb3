"""Two pages of HTML compared by their tags and texts, as a browser reads them, whatever their spaces and attributes."""

from __future__ import annotations

from collections.abc import Collection
from html.parser import HTMLParser

from fairground.contract.rules import show_value


def difference(got: str, expected: str, ignore: Collection[str] = ()) -> str | None:
    """Return the first place where the pages differ, or None. The tags that are named in `ignore` do not count."""
    theirs = pieces(expected, ignore)
    try:
        ours = pieces(got, ignore)
    except AssertionError as error:  # the reader's word for a declaration that is none
        return f"the page cannot be read: {error}"
    for number, (one, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if one != other:
            return f"piece {number} of the page is {show_value(one)}, expected {show_value(other)}"
    if len(ours) != len(theirs):
        more = "ends early, and lacks" if len(ours) < len(theirs) else "goes on with"
        return (
            f"the page {more} {show_value((ours + theirs if len(ours) > len(theirs) else theirs)[min(len(ours), len(theirs))])}"
        )
    return None


def pieces(text: str, ignore: Collection[str] = ()) -> list[str]:
    """Every tag and text of a page. Character references are read, spaces at the ends of texts are left out."""
    reader = PageReader(frozenset(ignore))
    reader.feed(text)
    reader.close()
    return reader.whole()


class PageReader(HTMLParser):
    """Collects the pieces of a page."""

    def __init__(self, ignore: Collection[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._ignore, self._found, self._text = ignore, list[str](), ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self._ignore:
            self._add(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._ignore:
            self._add(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_decl(self, decl: str) -> None:
        self._add(f"<!{decl.lower()}>")

    def whole(self) -> list[str]:
        """The pieces, once all of the page was fed."""
        self._add(None)
        return self._found

    def _add(self, piece: str | None) -> None:
        if text := " ".join(self._text.split()):
            self._found.append(text)
        self._text = ""
        if piece is not None:
            self._found.append(piece)
