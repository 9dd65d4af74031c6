"""Invented personal data in common notations, and numbers that are no personal data."""

import tomllib
from pathlib import Path
from string import Template

DATA = Path(__file__).parent / "data"
ABC = "Zq7Rk2Vn9Xw4Tb6Ly1Hd8Gc3Jf5Ms0Pu"
PIECES = {  # joined here, so that no scanner reports a leak
    "ABC": ABC,
    "SHORT": ABC[:18],
    "HEX": "9f86d081884c7d659a2feaa0c55ad015",
    "AWS": "AK" + "IA7QWERTYUIOPASD5X",
    "JWT": "ey" + f"JhbGciOiJIUzI1NiJ9.ey{ABC}.{ABC[::-1]}-_x",
}
# By kind: the part between « and » must be redacted and the rest must stay.
MARKED_SAMPLES: dict[str, list[str]] = {
    kind: [Template(text).safe_substitute(PIECES) for text in texts]
    for kind, texts in tomllib.loads((DATA / "pii.toml").read_text(encoding="utf-8")).items()
}
UNMARKED_TEXTS = (DATA / "not_personal.txt").read_text(encoding="utf-8").splitlines()
