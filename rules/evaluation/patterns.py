"""Regular expressions of conditions, compiled when they are first used. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

import re2

from kmapp.runtime.in_process_caches import LruCache
from rules.evaluation.time_limit import check_time

MAX_PATTERN_LENGTH = 256
MAX_PROGRAM_SIZE = 1 << 20  # bytes that a compiled pattern may take
# Initial and maximum size of the cache in bytes. One rule can have more than a thousand patterns,
# and any agent can write shadow rules, so only patterns of active rules enlarge the cache.
CACHED_SIZE = 1 << 26
MAX_CACHED_SIZE = 1 << 28
MIN_CACHED_SIZE = 1 << 15  # of one pattern: matching takes memory besides the program
INSTRUCTION_SIZE = 16  # bytes, in the forward and the backward program together
MAX_CHECKED_PATTERNS = 10_000  # patterns for which it is cached whether they are supported


def _estimate_size(cached: tuple[Any]) -> int:
    [pattern] = cached
    size = 0 if pattern is None else INSTRUCTION_SIZE * pattern.programsize
    return max(size, MIN_CACHED_SIZE)


# By text; each is in a tuple, because unsupported ones are None.
pattern_cache: LruCache[tuple[Any]] = LruCache(CACHED_SIZE, size_of=_estimate_size)
# By text. Compiled patterns of drafts would take the place of those of active rules.
_support_cache: LruCache[bool] = LruCache(MAX_CHECKED_PATTERNS)


def load_pattern(text: str) -> Any:
    """Return what `compile_safe_pattern` does, from the cache if possible."""
    cached = pattern_cache.get(text)
    if cached is None:
        cached = (compile_safe_pattern(text),)
        pattern_cache.put(text, cached)
    return cached[0]


def is_supported(text: str) -> bool:
    """Return whether `compile_safe_pattern` compiles a pattern, which can take 60 ms."""
    supported = _support_cache.get(text)
    if supported is None:
        check_time()
        supported = compile_safe_pattern(text) is not None
        _support_cache.put(text, supported)
    return supported


def reserve_space(number: int) -> None:
    """Enlarge the cache to hold this many patterns of active rules besides others.

    Without space for all of them, each request would compile all of them again.
    """
    size = min(CACHED_SIZE + number * MIN_CACHED_SIZE, MAX_CACHED_SIZE)
    pattern_cache.max_size = max(pattern_cache.max_size, size)


def compile_safe_pattern(expected: Any) -> Any:
    """Return the compiled pattern, or None if it is too long or not linear."""
    if not isinstance(expected, str) or len(expected) > MAX_PATTERN_LENGTH:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_PROGRAM_SIZE
    try:
        return re2.compile(expected, options)
    except (re2.error, UnicodeEncodeError):
        return None


def list_patterns(condition: Any) -> Iterator[str]:
    """Yield the patterns of a condition, at any depth."""
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if isinstance(pattern := part.get("$regex"), str):
                yield pattern
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
