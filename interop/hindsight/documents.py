"""Documents of a bank, which are views of its memories."""

from hashlib import sha256
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt

from interop.hindsight.base_views import BankView
from interop.hindsight.retain import document_filter
from kmapp.errors import NotFound

MAX_ENTRIES = 10_000  # memories of a document that one request reads


class Document(BankView):
    """Read or delete a document: the memories that were retained with its id."""

    @method_decorator(csrf_exempt)  # which only the function itself passes on
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Restore the final slash of an id such as a URL: a middleware has removed it."""
        if request.META["PATH_INFO"].endswith("/"):
            kwargs["document"] += "/"
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest, bank: str, document: str) -> Any:
        self.require_bank(bank)
        body = {**document_filter(bank, document), "status": "active"}
        memories = self.list_memories(body, MAX_ENTRIES)[::-1]
        if not memories:
            raise NotFound("Document not found.")
        text = "\n".join(memory["text"] for memory in memories)
        return {
            "id": document,
            "bank_id": bank,
            "original_text": text,
            "content_hash": sha256(text.encode()).hexdigest(),
            "created_at": memories[0]["created_at"],
            "updated_at": max(memory["updated_at"] for memory in memories),
            "memory_unit_count": len(memories),
            "tags": sorted({tag for memory in memories for tag in memory["tags"]}),
        }

    def delete(self, request: HttpRequest, bank: str, document: str) -> Any:
        self.require_bank(bank)
        forgotten = self.forget_owned(document_filter(bank, document))
        if not forgotten["count"]:
            raise NotFound("Document not found.")
        return {
            "success": True,
            "message": "The memories of the document are forgotten.",
            "document_id": document,
            "memory_units_deleted": forgotten["count"],
        }
