"""Every address of the product, as its resolver has them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

_PLACE = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True, slots=True)
class Route:
    """One address. `name` holds its namespace; a nameless one is called by its template."""

    template: str
    name: str
    view: Callable[..., Any]

    @property
    def places(self) -> list[str]:
        """What its address has to be told."""
        return _PLACE.findall(self.template)

    def at(self, **values: object) -> str:
        return "/" + _PLACE.sub(lambda place: str(values[place[1]]), self.template)


def routes(
    patterns: Sequence[URLPattern | URLResolver] | None = None,
    before: str = "",
    spaces: tuple[str, ...] = (),
) -> Iterator[Route]:
    """Walk the resolver. Expressions are left out: they catch what is no address at all."""
    for each in get_resolver().url_patterns if patterns is None else patterns:
        template = before + str(each.pattern)
        if isinstance(each, URLResolver):
            inside = (*spaces, each.namespace) if each.namespace else spaces
            yield from routes(each.url_patterns, template, inside)
        elif "^" not in template and "(?P" not in template:
            yield Route(template, ":".join([*spaces, each.name or template]), each.callback)
