"""OpenAPI extensions for keys, scopes, errors and idempotency."""

import re
from types import UnionType
from typing import Any, Literal, is_typeddict

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_basic_type, force_instance
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from kmapp.api.idempotency import HEADER
from kmapp.api.json_schema_limits import limit_schema, unknown_fields_schema
from kmapp.api.typed_dict_schemas import described
from kmapp.api.variant_header import TAGS, VARIANT

Direction = Literal["request", "response"]


class Issue(serializers.Serializer[Any]):
    """A problem of a request field."""

    path = serializers.CharField(
        allow_blank=True, help_text="Path of the field, for example nodes.1.kind."
    )
    message = serializers.CharField()


class Error(serializers.Serializer[Any]):
    """The body of every error response."""

    status = serializers.IntegerField()
    error = serializers.CharField(
        help_text="Stable machine-readable code, for example invalid_request."
    )
    message = serializers.CharField(help_text="A sentence for people.")
    detail = serializers.CharField(help_text="The same sentence.")
    details = serializers.DictField(help_text="Facts that belong to the code.")
    issues = Issue(many=True)


REFUSALS = {
    "400": "Invalid request; `issues` lists the invalid fields.",
    "401": "No API key, or none that is valid.",
    "403": "The key lacks the scope, or the body names another account.",
    "429": "Too many requests. Retry after `Retry-After` seconds.",
    "default": "Any other refusal, in the same shape.",
}


# gunicorn sends this before Django sees the request.
TOO_LONG = {
    "description": "The address is longer than 8,190 bytes.",
    "content": {"text/html": {"schema": {"type": "string"}}},
}


class AgentSchema(AutoSchema):
    def get_operation_id(self) -> str:
        """Return an ID such as memory_search; methods other than POST are named."""
        words = re.findall(r"[a-z0-9]+", self.path.removeprefix("/v1").lower())
        return "_".join(words if self.method == "POST" else [*words, self.method.lower()])

    def get_tags(self) -> list[str]:
        """Return the source as the tag: memory, knowledge, rules or context."""
        return [self.path.removeprefix("/v1").strip("/").partition("/")[0]]

    def get_description(self) -> str:  # type: ignore[override]  # as spectacular calls it
        """Return the description of the view, followed by the scope it requires."""
        description = super().get_description()
        scope = getattr(self.view, "scopes", {}).get(self.method)
        if scope is None:
            return description
        if getattr(self.view, "other_scopes", ()):
            return f"{description}\n\nNeeds any scope that reads or writes."
        return f"{description}\n\nNeeds the scope `{scope.value}`."

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters for variants and, for POSTs that write, idempotency."""
        parameters = [VARIANT] if TAGS & set(self.get_tags()) else []
        if self.method != "POST" or not getattr(self.view, "idempotent", False):
            return parameters
        return [
            *parameters,
            OpenApiParameter(
                HEADER,
                {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
                OpenApiParameter.HEADER,
                description=(
                    "Makes retries safe: the first response is stored for 24 hours. A few requests "
                    "run again instead, with the same effect."
                ),
            ),
        ]

    def _map_basic_serializer(self, serializer: Any, direction: Direction) -> Any:
        """Return the exact schema of a request, including relations between fields.

        Serializers declare these relations as JSON Schema in `together`.
        """
        schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if direction == "request":
            serializer = force_instance(serializer)  # type: ignore[no-untyped-call]
            schema["properties"] = {
                name: limit_schema(serializer, name, shape, self.registry)
                for name, shape in schema.get("properties", {}).items()
            }
            schema |= unknown_fields_schema(serializer, self.registry) | getattr(
                serializer, "together", {}
            )
        return schema

    def _get_request_body(self, direction: Direction = "request") -> Any:
        """Require the body if the serializer declares relations between its fields."""
        body = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        if body and getattr(self.get_request_serializer(), "together", None):
            body["required"] = True
        return body

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        if self.get_auth() == [{}]:
            return bodies
        error = self.resolve_serializer(Error(), direction).ref
        for status, description in REFUSALS.items():
            content = {"application/json": {"schema": error}}
            bodies.setdefault(status, {"description": description, "content": content})
        if self.method == "GET":
            bodies["414"] = TOO_LONG
        bodies["429"]["headers"] = {
            "Retry-After": {"schema": build_basic_type(int), "description": "Seconds."}
        }
        return bodies

    def _get_response_for_code(self, serializer: Any, *args: Any, **kwargs: Any) -> Any:
        if is_typeddict(serializer) or isinstance(serializer, UnionType):
            serializer = described(serializer, self.registry)
        return super()._get_response_for_code(serializer, *args, **kwargs)  # type: ignore[no-untyped-call]


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """An API key, in either header."""

    target_class = "kmapp.accounts.authentication.KeyAuthentication"
    name = ["bearer", "apiKey"]

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[str]]]:
        """Return alternatives: one of the headers is enough."""
        return [{each: []} for each in self.name]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, str]]:
        """Return the definitions in the order of the names."""
        return [
            {"type": "http", "scheme": "bearer", "bearerFormat": "km_…"},
            {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        ]
