"""Response types of endpoints as TypedDicts or dataclasses, described in OpenAPI.

Views build plain dicts: mypy or `serialize_as` checks them against the types.
"""

from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    NotRequired,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from drf_spectacular.plumbing import (
    ComponentRegistry,
    ResolvedComponent,
    build_array_type,
    build_object_type,
    get_doc,
    resolve_type_hint,
)

Shape = TypeVar("Shape")
# The names of dataclasses in the schema, if they differ from the names of the classes.
COMPONENT_NAMES: dict[type, str] = {}


class FieldWarning(TypedDict):
    """A field of the request that was ignored, and the nearest known name if it is unknown."""

    code: str
    path: str
    nearest: str | None
    message: str


class ParsedAnswer(TypedDict):
    """A response to a request with ignored fields."""

    warnings: NotRequired[list[FieldWarning]]  # set by AgentView


class VerifiedAnswer(ParsedAnswer):
    """A response that leaves out rows which differ from the ledger."""

    withheld: NotRequired[int]  # set by AgentView


def serialize_as(shape: type[Shape], source: object, /, **values: Any) -> Shape:
    """Return the fields of a TypedDict from `values`, or from the attributes of `source`.

    An empty text becomes null where the field allows null. NotRequired fields are read from
    `values` only.
    """
    fields = {}
    for name, nullable in _required_fields(cast(Any, shape)):
        value = values[name] if name in values else getattr(source, name)
        fields[name] = None if nullable and value == "" and name not in values else value
    return cast(Shape, fields | values)


@cache
def _required_fields(shape: Any) -> tuple[tuple[str, bool], ...]:
    """Return the required fields of a TypedDict, each with whether it allows null."""
    hints = get_type_hints(shape)
    return tuple(
        (name, NoneType in get_args(hint))
        for name, hint in hints.items()
        if name in shape.__required_keys__
    )


def described(shape: Any, registry: ComponentRegistry) -> dict[str, Any]:
    """Return the schema of a type; each TypedDict or dataclass becomes a component."""
    if is_typeddict(shape) or is_dataclass(shape):
        return _component(shape, registry)
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is list:
        return dict(build_array_type(described(arguments[0], registry)))
    if origin is dict:
        return {"type": "object", "additionalProperties": described(arguments[1], registry)}
    if origin in (Union, UnionType):
        return {"anyOf": [described(each, registry) for each in arguments]}
    if shape is NoneType:
        return {"type": "null"}
    return dict(resolve_type_hint(shape))  # type: ignore[no-untyped-call]


def _component(shape: Any, registry: ComponentRegistry) -> dict[str, Any]:
    component = ResolvedComponent(  # type: ignore[no-untyped-call]
        COMPONENT_NAMES.get(shape, shape.__name__), ResolvedComponent.SCHEMA, object=shape
    )
    if component not in registry:
        registry.register_on_missing(component)  # before its parts, so that it may hold itself
        hints = get_type_hints(shape)
        component.schema = build_object_type(
            properties={name: described(part, registry) for name, part in hints.items()},
            required=getattr(shape, "__required_keys__", hints),
            description=get_doc(shape),
        )
    return dict(component.ref)
