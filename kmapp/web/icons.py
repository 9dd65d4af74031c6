"""Vendored icons, inlined into the page: they need no request and inherit the text colour."""

import re
from functools import cache

from django.conf import settings

_FOLDER = settings.RESOURCES / "static" / "vendor" / "lucide"
_DRAWING = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)


@cache
def load_drawing(name: str) -> str:
    """Return the content of the icon's <svg>; raise if there is no such icon."""
    match = _DRAWING.search((_FOLDER / f"{name}.svg").read_text())
    if match is None:
        raise ValueError(f"{name}.svg contains no <svg>.")
    return "".join(line.strip() for line in match.group(1).splitlines())
