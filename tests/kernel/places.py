"""Places in request bodies where a hostile value can be put, found with the API schema.

A place is a valid body with a mark in one field. Where the schema allows any JSON, the places are
those of the example.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.urls import reverse

from tests.hostile import MARK
from tests.kernel.names import ObjectIds
from tests.kernel.probes import PROBES, ROUTES

KINDS: dict[type, str] = {dict: "object", list: "array"}
Shape = Mapping[str, Any]
Place = tuple[str, bool, Any]  # place, whether the example has a value there, the marked body
ANYTHING: Any = object()  # an example of any shape
CHOICES = ("anyOf", "oneOf", "allOf")
# Any JSON, and filters, which contain filters and have tests of their own.
ARBITRARY = {f"#/components/schemas/{name}" for name in ("JSON", "Filters")}
OPEN: Shape = {}
FEW = 5  # items of a list that are tested


class PlaceFinder:
    """Finds the places in the shapes of a published schema."""

    def __init__(self, schema: Shape) -> None:
        self.components: Shape = schema["components"]["schemas"]

    def list_places(self, shape: Shape) -> set[str]:
        """Return the places of the shape."""
        return {at for at, _, _ in self.find_places(shape, ANYTHING)}

    def build_marked_bodies(self, shape: Shape, examples: Sequence[Any]) -> dict[str, list[Any]]:
        """Return marked bodies by place, from the first and last example with a value there."""
        held: dict[str, list[Any]] = {}
        empty: dict[str, list[Any]] = {}
        for example in examples:
            for at, filled, body in self.find_places(shape, example):
                (held if filled else empty).setdefault(at, []).append(body)
        return {at: [each[0], *each[1:][-1:]] for at, each in {**empty, **held}.items()}

    def find_places(self, shape: Shape, value: Any, at: str = "") -> Iterator[Place]:
        if at:
            yield at, value not in (None, ANYTHING), MARK
        for each in self._forms(shape):
            kind = each.get("type", KINDS.get(type(value)))
            if "properties" in each or kind == "object":
                yield from self._of_object(each, value, at)
            elif kind == "array":
                yield from self._of_array(each, value, at)

    def _forms(self, shape: Shape) -> Iterator[Shape]:
        """Yield the alternatives of a shape. Choices next to properties add no places."""
        if (name := shape.get("$ref")) and name not in ARBITRARY:
            yield from self._forms(self.components[name.rpartition("/")[2]])
        elif "properties" in shape or not any(choice in shape for choice in CHOICES):
            yield shape
        else:
            for each in (each for choice in CHOICES for each in shape.get(choice, ())):
                yield from self._forms(each)

    def _of_object(self, shape: Shape, value: Any, at: str) -> Iterator[Place]:
        named = shape.get("properties", {})
        if value is ANYTHING:
            value = dict.fromkeys(named, ANYTHING)
        if named and not isinstance(value, dict):
            return  # the example has the shape of another alternative
        value = value if isinstance(value, dict) else {}
        for name in {**named, **value}:
            inner = self.find_places(named.get(name, OPEN), value.get(name), f"{at}.{name}")
            yield from ((where, held, {**value, name: hurt}) for where, held, hurt in inner)
        if shape.get("additionalProperties", True):
            yield f"{at}.(other)", bool(value), {**value, "unheard_of": MARK}
            yield f"{at}.(deep)", bool(value), {**value, "unheard_of": [{"a": MARK}]}
            yield f"{at}.(key)", bool(value), {**value, MARK: 1}

    def _of_array(self, shape: Shape, value: Any, at: str) -> Iterator[Place]:
        if value is ANYTHING:
            value = [ANYTHING]
        if value is not None and not isinstance(value, list):
            return  # the example has the shape of another alternative
        value = value or [None]
        for number, each in enumerate(value[:FEW]):
            for where, held, hurt in self.find_places(
                shape.get("items", OPEN), each, f"{at}.{number}"
            ):
                yield where, held, [*value[:number], hurt, *value[number + 1 :]]


# --- Of routes ------------------------------------------------------------------------------------


def schema_path(name: str) -> str:
    """Return the path of a route as it is written in the schema."""
    return "/" + re.sub(r"<.*?>", "{id}", ROUTES[name])


def list_request_bodies(schema: Any) -> dict[str, tuple[str, Any]]:
    """Return the method and the shape of the body of every route that takes one."""
    results = {}
    for name in ROUTES:
        for method, operation in schema["paths"].get(schema_path(name), {}).items():
            if body := operation.get("requestBody"):
                assert name not in results, "one body a route"
                results[name] = (method.upper(), body["content"]["application/json"]["schema"])
    return results


def path_of(name: str, names: ObjectIds) -> str:
    pk = PROBES[name].pk if name in PROBES else ""
    return reverse(name, args=[getattr(names, pk)] if pk else [])
