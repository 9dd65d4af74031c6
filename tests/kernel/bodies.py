"""Valid request bodies of every route, from `bodies.yaml`."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from context.archives.placeholders import Archived, render_placeholder
from tests.kernel.names import ObjectIds

Body = Mapping[str, Any]
NAME = re.compile(r"\{(\w+)\}")
EXAMPLES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("bodies.yaml").read_text())
SHARED = EXAMPLES.pop("shared")


def fill_names(value: Any, names: ObjectIds) -> Any:
    """Replace `{name}` in all texts by the field `name` of `names`."""
    if isinstance(value, dict):
        return {key: fill_names(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [fill_names(each, names) for each in value]
    if value == "{unit_vector}":
        return [1.0] + [0.0] * 383
    if value == "{placeholder}":
        return _render_placeholder(names)
    if isinstance(value, str):
        return NAME.sub(lambda match: str(getattr(names, match[1])), value)
    return value


def _render_placeholder(names: ObjectIds) -> str:
    archived = Archived(
        uuid=names.archive, tool_name="t", query="", time="", length=1, summary="", sources=()
    )
    return render_placeholder(archived, "en")


BODIES: dict[str, Callable[[ObjectIds], Sequence[Body]]] = {
    route: partial(fill_names, bodies) for route, bodies in EXAMPLES.items()
}
