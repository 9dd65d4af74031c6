"""Valid request bodies of every route, from `bodies.yaml`."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.kernel.names import Names

Body = Mapping[str, Any]
UNIT_VECTOR = [1.0] + [0.0] * 383
NAME = re.compile(r"\{(\w+)\}")
EXAMPLES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("bodies.yaml").read_text())
SHARED = EXAMPLES.pop("shared")


def _fill(value: Any, names: Names) -> Any:
    """Replace {name} in all texts by that field of `names`."""
    if isinstance(value, dict):
        return {key: _fill(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_fill(each, names) for each in value]
    if value == "{unit_vector}":
        return UNIT_VECTOR
    if isinstance(value, str):
        return NAME.sub(lambda match: str(getattr(names, match[1])), value)
    return value


BODIES: dict[str, Callable[[Names], Sequence[Body]]] = {
    route: partial(_fill, bodies) for route, bodies in EXAMPLES.items()
}
