"""What a reader sees of a page."""

from __future__ import annotations

import base64
import hashlib
import html as htmllib
import re


def text_of(markup: str) -> str:
    """What a reader sees, one line per block of text."""
    markup = re.sub(r"(?s)<(style|script|title)[^>]*>.*?</\1>", "", markup)
    markup = markup.replace("<wbr>", "")
    markup = re.sub(r"</(p|tr|h\d|li|dd|dt|summary|pre|figcaption|td|th)>", "\n", markup)
    lines = (" ".join(htmllib.unescape(line).split()) for line in re.sub(r"<[^>]+>", " ", markup).split("\n"))
    return "\n".join(line for line in lines if line) + "\n"


def section(markup: str, name: str) -> str:
    return text_of(section_html(markup, name))


def section_html(markup: str, name: str) -> str:
    found = re.search(rf'(?s)<section id="{name}">(.*?)</section>', markup)
    assert found is not None, f"no section {name}"
    return found[1]


def runs_only_its_own_script(markup: str) -> bool:
    """Whether a page has one script, its policy admits that by its hash and no other, and nothing is fetched."""
    scripts = re.findall(r"(?s)<script>(.*?)</script>", markup)
    if len(scripts) != 1 or markup.count("<script") != 1:
        return False
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    return f"script-src 'sha256-{digest}'" in markup and not re.search(r'\b(?:src|xlink:href)="(?!data:)', markup)
