"""Endpoints of mem0 for the account behind a key: ping and project settings."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse
from kmapp.errors import NotFound
from memory.actions.settings import update_policy
from memory.models import MemorySettings
from memory.models.settings import MAX_INSTRUCTIONS_LENGTH


@extend_schema(exclude=True)
class Ping(AgentView):
    """Check the key. The account is both organisation and project of a mem0 client."""

    scopes = {"GET": Scope.MEMORY_READ}

    def get(self, request: Request) -> Response:
        principal = self.request.auth
        return Response(
            {
                "status": "ok",
                "org_id": principal.account_slug,
                "project_id": str(principal.account_id),
                "user_email": None,
            }
        )


class ProjectInput(Typed):
    """Settings of a project. Fields without a counterpart are accepted and ignored."""

    other_names = (
        *("org_id", "project_id", "agent_custom_instructions", "multilingual", "decay"),
        *("memory_depth", "usecase_setting"),
    )

    custom_instructions = serializers.CharField(
        max_length=MAX_INSTRUCTIONS_LENGTH, required=False, allow_blank=True, allow_null=True
    )
    custom_categories = serializers.ListField(required=False, allow_null=True)


@extend_schema(exclude=True)
class Project(AgentView):
    """The account, as the project of a mem0 client."""

    scopes = {"GET": Scope.MEMORY_READ, "PATCH": Scope.ADMIN}

    def get(self, request: Request, org: str, project: str) -> Response:
        self._check(project)
        return Response(self._project())

    def patch(self, request: Request, org: str, project: str) -> Response:
        self._check(project)
        data = parse(ProjectInput, request)
        values: dict[str, Any] = {}
        if "custom_instructions" in data:
            values["instructions"] = data["custom_instructions"] or ""
        if "custom_categories" in data:
            values["categories"] = _category_descriptions(data["custom_categories"] or [])
        with acting(self.account):
            update_policy(self.account, values, actor=self.actor)
        return Response(self._project())

    def _check(self, project: str) -> None:
        if project != str(self.account):
            raise NotFound("Project not found.")

    def _project(self) -> dict[str, Any]:
        with acting(self.account):
            settings = MemorySettings.objects.get_or_default(self.account)
            name = Account.objects.get(pk=self.account).name
        return {
            "project_id": str(self.account),
            "name": name,
            "custom_instructions": settings.instructions or None,
            "custom_categories": [{name: text} for name, text in settings.categories.items()],
            "multilingual": True,
        }


def _category_descriptions(categories: list[Any]) -> dict[str, str]:
    """Return name and description of each category; a category without one describes itself."""
    described: dict[str, str] = {}
    for category in categories:
        pairs = category.items() if isinstance(category, Mapping) else [(category, category)]
        described.update({str(name): str(text or name) for name, text in pairs})
    return described
