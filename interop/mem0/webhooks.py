"""Webhooks of mem0: those of the account whose receivers expect mem0's payload."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from interop.field_validation import field_error
from interop.protocol_view import ProtocolView
from kmapp.errors import NotFound
from kmapp.notifications.webhooks.change_registry import ReportedChange
from kmapp.notifications.webhooks.payloads import register_format

PATH = "/v1/webhooks"
FORMAT = "mem0"
EVENT_TYPES = {
    "memory_add": "memory.added",
    "memory_update": "memory.updated",
    "memory_delete": "memory.deleted",
}
# Categories are part of a memory when it is added, so this event never happens on its own.
WITHOUT_EVENTS = "memory_categorize"
EVENTS = {"memory.added": "ADD", "memory.updated": "UPDATE", "memory.deleted": "DELETE"}


def build_mem0_payload(change: ReportedChange) -> Mapping[str, Any]:
    details = {
        "id": change.data["id"],
        "data": {"memory": change.data.get("text")},
        "event": EVENTS.get(change.event_type, change.event_type),
    }
    return {"event_details": details}


register_format(FORMAT, build_mem0_payload)


class ProjectWebhooks(ProtocolView):
    """List the webhooks of a project, or create one."""

    def get(self, request: HttpRequest, project: str) -> Any:
        self._check(project)
        rows = self.get_native(PATH)["results"]
        return [_output(row, project) for row in rows if row["payload_format"] == FORMAT]

    def post(self, request: HttpRequest, project: str) -> Any:
        self._check(project)
        data = self.body()
        body = {
            "name": data.get("name") or data.get("url"),
            "url": data.get("url"),
            "event_types": _native_types(data.get("event_types", list(EVENT_TYPES))),
            "payload_format": FORMAT,
        }
        created = self.post_native(PATH, body)
        return 201, {**_output(created, project), "secret": created["secret"]}

    def _check(self, project: str) -> None:
        if project != self.get_native("/v1/ping")["project_id"]:
            raise NotFound("Project not found.")


class OneWebhook(ProtocolView):
    """Change or delete a webhook."""

    def put(self, request: HttpRequest, pk: UUID) -> Any:
        data = self.body()
        changes: dict[str, Any] = {
            name: data[name] for name in ("name", "url", "is_active") if name in data
        }
        if "event_types" in data:
            changes["event_types"] = _native_types(data["event_types"])
        project = self.get_native("/v1/ping")["project_id"]
        return _output(self.call_native("PATCH", f"{PATH}/{pk}", changes), project)

    def delete(self, request: HttpRequest, pk: UUID) -> Any:
        self.call_native("DELETE", f"{PATH}/{pk}", {})
        return {"message": "Webhook deleted successfully"}


def _native_types(names: Any) -> list[str]:
    accepted = [*EVENT_TYPES, WITHOUT_EVENTS]
    if not isinstance(names, list) or not all(name in accepted for name in names):
        raise field_error("event_types", f"must be a list of {', '.join(accepted)}")
    return [EVENT_TYPES[name] for name in names if name in EVENT_TYPES]


def _output(webhook: Mapping[str, Any], project: str) -> dict[str, Any]:
    names = [theirs for theirs, ours in EVENT_TYPES.items() if ours in webhook["event_types"]]
    return {
        "webhook_id": webhook["id"],
        "name": webhook["name"],
        "url": webhook["url"],
        "event_types": names,
        "owner": webhook["created_by"],
        "is_active": webhook["is_active"],
        "project": project,
        "created_at": webhook["created_at"],
        "updated_at": webhook["updated_at"],
    }
