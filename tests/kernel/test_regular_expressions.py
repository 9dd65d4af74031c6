"""Every regular expression of the product takes linear time on adversarial text."""

import re
from collections import deque
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from pkgutil import walk_packages
from typing import Any

import pytest

from kmapp.security.pii import find_pii
from kmapp.security.prompt_injection import detect_flags
from kmapp.security.prompt_injection.prefiltered_patterns import KeywordPattern, KeywordPatterns
from tests.adversarial_text import ADVERSARIAL
from tests.timing import assert_linear

APPS = ("kmapp", "memory", "knowledge", "rules", "context")
SKIPPED = ("kmapp.runtime.gunicorn_config",)  # the server's own settings
MORE_PIECES = [
    *(" ", "\t", "\n ", "< ", "</ ", "一", "十", "周一", "- ", "#", "*", "**", "0", "1.", "1,"),
    *(".", "a b", "ab_", "..", "//", "http://", "https://a", "www.", "“", '"', "'", "(", ")"),
    *("[]", "{", "}", "|", "```", "~~~", "，", "。", "é", "Aa ", "\\", "%", "&amp;", "<!--"),
    *("<a ", '="', "x=", "Source:", "Source: a ", "1-1", "٣", "2026-11-", "step 1", "Step 1: "),
]
SIZE = 4_000  # characters, which quadratic patterns scan in a tenth of a second


def load_modules() -> Iterator[Any]:
    for app in APPS:
        package = import_module(app)
        yield package
        for info in walk_packages(package.__path__, f"{app}."):
            if info.name not in SKIPPED and ".migrations." not in info.name:
                yield import_module(info.name)


def list_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, KeywordPatterns):
        value = value.patterns
    if isinstance(value, list | tuple):
        for each in value:
            yield from list_values(each)
    else:
        yield value


def list_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for module in load_modules():
        for name, value in vars(module).items():
            for place, each in enumerate(list_values(value)):
                pattern = each.expression if isinstance(each, KeywordPattern) else each
                if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
                    yield f"{module.__name__}.{name}.{place}", pattern


# Names by pattern; a pattern that several modules import has one of its names.
PATTERNS = {pattern: name for name, pattern in list_patterns()}


def test_patterns_of_the_product_take_linear_time(subtests: pytest.Subtests) -> None:
    assert len(PATTERNS) > 150
    for pattern, name in PATTERNS.items():
        with subtests.test(name):
            for piece in chain(ADVERSARIAL, MORE_PIECES):

                def find(size: int, pattern: re.Pattern[str] = pattern, piece: str = piece) -> None:
                    deque(pattern.finditer(piece * (size // len(piece))), maxlen=0)

                assert_linear(find, SIZE)


@pytest.mark.parametrize("detect", [find_pii, detect_flags])
@pytest.mark.parametrize("piece", ADVERSARIAL)
def test_detection_takes_linear_time(detect: Callable[[str], Any], piece: str) -> None:
    assert_linear(lambda n: detect(piece * (n // len(piece))), 10_000)


@pytest.mark.parametrize("detect", [find_pii, detect_flags])
@pytest.mark.parametrize("piece", ["a", "a@", "eyJaaaaaaaaa."])
def test_detection_processes_a_megabyte(detect: Callable[[str], Any], piece: str) -> None:
    detect(piece * (2**20 // len(piece)))
