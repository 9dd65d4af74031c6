"""Registry of agent tools, as function definitions in OpenAI's strict mode.

Each app registers its own. Strict mode requires every property and allows no others, so optional
arguments are nullable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.scopes import READ_AND_WRITE_SCOPES, Scope
from kmapp.api.views import AgentView

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function: name, description, arguments, and the endpoint that it calls."""

    name: str
    description: str
    path: str
    scope: Scope
    required: Mapping[str, Schema]
    optional: Mapping[str, Schema] = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        nullable = {
            name: {**spec, "type": [spec["type"], "null"]} for name, spec in self.optional.items()
        }
        properties = {**self.required, **nullable}
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "strict": True,
                "parameters": {
                    "type": "object",
                    "properties": properties,
                    "required": list(properties),
                    "additionalProperties": False,
                },
            },
        }


def text_schema(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


_tools: dict[str, Tool] = {}


def register_tools(*tools: Tool) -> None:
    _tools.update({tool.name: tool for tool in tools})


def list_registered_tools() -> Sequence[Tool]:
    return list(_tools.values())


class AgentToolsAnswer(TypedDict):
    """Function definitions for a model, and the endpoint of each (POST)."""

    tools: list[dict[str, Any]]
    paths: dict[str, str]


class AgentTools(AgentView):
    """Return the tools that the key may use, in the format of OpenAI's function calling."""

    scopes = {"GET": Scope.MEMORY_READ}
    other_scopes = READ_AND_WRITE_SCOPES

    @extend_schema(responses={200: AgentToolsAnswer})
    def get(self, request: Request) -> Response:
        mine = [tool for tool in list_registered_tools() if self.request.auth.may(tool.scope)]
        return Response(
            {
                "tools": [tool.schema() for tool in mine],
                "paths": {tool.name: tool.path for tool in mine},
            }
        )
