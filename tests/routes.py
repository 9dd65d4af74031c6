"""All routes of the product and of the stock admin."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.urls import URLPattern, URLResolver, get_resolver


class Route(NamedTuple):
    """A route; its name begins with its namespace."""

    name: str
    path: str
    pattern: URLPattern

    @property
    def view_class(self) -> Any:
        return getattr(self.pattern.callback, "view_class", object)


def list_routes(resolver: URLResolver, path: str = "", namespace: str = "") -> Iterator[Route]:
    for each in resolver.url_patterns:
        here = path + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from list_routes(each, here, each.namespace or namespace)
        else:
            yield Route(f"{namespace}:{each.name}", here, each)


ALL_ROUTES = list(list_routes(get_resolver()))
