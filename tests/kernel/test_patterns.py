"""Regular expressions that read what others wrote: each takes time as the text is long, at most."""

import re
from collections import deque
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pkgutil import walk_packages
from typing import Any

import pytest

from tests.kernel.test_redaction import ADVERSARIAL
from tests.timing import assert_linear

APPS = ("kmapp", "memory", "knowledge", "rules", "context")
ELSEWHERE = ("kmapp.runtime.gunicorn_config",)  # the server's own settings
MORE = [
    *(
        " ",
        "\t",
        "\n ",
        "< ",
        "</ ",
        "一",
        "十",
        "周一",
        "- ",
        "#",
        "*",
        "**",
        "0",
        "1.",
        "1,",
        ".",
    ),
    *("a b", "ab_", "..", "//", "http://", "https://a", "www.", "“", '"', "'", "(", ")", "[]", "{"),
    *(
        "}",
        "|",
        "```",
        "~~~",
        "，",
        "。",
        "é",
        "Aa ",
        "\\",
        "%",
        "&amp;",
        "<!--",
        "<a ",
        '="',
        "x=",
    ),
    *("Source:", "Source: a ", "1-1", "٣", "2026-11-", "step 1", "Step 1: "),
]
SIZE = 4_000  # characters: what grows with the square takes a tenth of a second


def modules() -> Iterator[Any]:
    for app in APPS:
        package = import_module(app)
        yield package
        for found in walk_packages(package.__path__, f"{app}."):
            if found.name not in ELSEWHERE and ".migrations." not in found.name:
                yield import_module(found.name)


def held(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
    else:
        yield value


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for module in modules():
        for name, value in vars(module).items():
            for place, each in enumerate(held(value)):
                if isinstance(each, re.Pattern) and isinstance(each.pattern, str):
                    yield f"{module.__name__}.{name}.{place}", each


# Each once, under one of the names by which it is known.
PATTERNS = {pattern: name for name, pattern in patterns()}


def test_there_are_patterns_to_try() -> None:
    assert len(PATTERNS) > 50


@pytest.mark.parametrize("pattern", PATTERNS, ids=PATTERNS.values())
def test_time_grows_with_the_text_and_no_faster(pattern: re.Pattern[str]) -> None:
    for piece in chain(ADVERSARIAL, MORE):

        def find(size: int, piece: str = piece) -> None:
            deque(pattern.finditer(piece * (size // len(piece))), maxlen=0)

        assert_linear(find, SIZE)
