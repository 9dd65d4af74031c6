"""Response types of endpoints as TypedDicts, checked by mypy and described in OpenAPI.

mypy holds the views to their declarations, so nothing is serialised at run time but plain dicts.
"""

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from drf_spectacular.plumbing import (
    ComponentRegistry,
    ResolvedComponent,
    build_array_type,
    build_object_type,
    get_doc,
    resolve_type_hint,
)


def described(shape: Any, registry: ComponentRegistry) -> dict[str, Any]:
    """Return the schema of a type; each TypedDict becomes a component."""
    if is_typeddict(shape):
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
        shape.__name__, ResolvedComponent.SCHEMA, object=shape
    )
    if component not in registry:
        registry.register_on_missing(component)  # before its parts, so that it may hold itself
        component.schema = build_object_type(
            properties={
                name: described(part, registry) for name, part in get_type_hints(shape).items()
            },
            required=shape.__required_keys__,
            description=get_doc(shape),
        )
    return dict(component.ref)
