"""The icons we vendor, written into the page: no request each, in the colour of their text."""

import re
from functools import cache

from django.conf import settings

_FOLDER = settings.BASE_DIR / "static" / "vendor" / "lucide"
_DRAWING = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)


@cache
def drawing(name: str) -> str:
    """What is inside the icon's <svg>. A name we do not have is a mistake: it fails loudly."""
    found = _DRAWING.search((_FOLDER / f"{name}.svg").read_text())
    if found is None:
        raise ValueError(f"{name}.svg holds no drawing.")
    return "".join(line.strip() for line in found.group(1).splitlines())
