"""Exports of mem0: the memories of an owner as one object.

An export is not stored. Its id is the signed filter, so that it is computed when it is read.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

from django.core import signing
from django.http import HttpRequest
from django.utils.timezone import now

from interop.mem0 import serialize
from interop.mem0.listing import LISTED
from interop.mem0.owner_filters import split_by_owner
from interop.protocol_view import ProtocolView
from kmapp.errors import Invalid, NotFound

SALT = "interop.mem0.export"
MAX_EXPORTED = 10_000


class CreateExport(ProtocolView):
    """Create an export of the memories that the filters select."""

    def post(self, request: HttpRequest) -> Any:
        filters = self.body().get("filters")
        split_by_owner(filters)
        self.post_native("/v1/memory/list", {"filters": filters, "limit": 1})  # check filter, key
        export_id = signing.dumps(filters, salt=SALT, compress=True)
        return 201, {"message": "Memory export created.", "id": export_id}


class ReadExport(ProtocolView):
    """Return an export. kmapp does not shape it by the schema, which needs a model of mem0."""

    def post(self, request: HttpRequest) -> Any:
        data = self.body()
        filters = data.get("filters")
        if export_id := data.get("memory_export_id"):
            try:
                filters = signing.loads(str(export_id), salt=SALT)
            except signing.BadSignature as error:
                raise NotFound("Memory export not found.") from error
        memories: dict[Any, Mapping[str, Any]] = {}
        for part, status in product(split_by_owner(filters), LISTED):
            rows = self.list_memories({"filters": part, "status": status}, MAX_EXPORTED)
            memories |= {row["id"]: row for row in rows}
            if len(memories) > MAX_EXPORTED:
                raise Invalid(f"An export has at most {MAX_EXPORTED} memories. Narrow the filters.")
        moment = now()
        current = [
            row for row in memories.values() if not row["expires_at"] or row["expires_at"] > moment
        ]
        return {"memories": [serialize.memory_item(row) for row in current]}
