"""Memories of a bank: retain, recall and list."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest
from drf_spectacular.utils import extend_schema

from interop.field_errors import field_error
from interop.forget_owner import forget_owned
from interop.hindsight.banks import PROFILE_KIND, BankReport, BankView
from interop.hindsight.embedding_wait import wait_for_embeddings
from kmapp.ledger.sealed_reads import withhold_mismatches
from kmapp.text import tokens
from memory.api.serialize import serialize_entry
from memory.models import EntryQuerySet

MAX_ITEMS = 200
DEFAULT_TOKENS = 4096
LIMITS = {"low": 20, "mid": 50, "high": 200}  # memories that a budget considers
EXPERIENCE = ("event", "procedure")
OBSERVATION = ("summary", "topic", "concept")
OWN_FIELDS = ("context", "document_id")  # metadata that the protocol has fields for
NO_USAGE = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


class Memories(BankView):
    """Retain memories, with their texts as they are.

    Without `async`, the response waits a few seconds for the embeddings, so that the memories can
    be recalled by meaning at once.
    """

    def post(self, request: HttpRequest, bank: str) -> Any:
        data = self.body()
        items = data.get("items")
        if not isinstance(items, list) or not 1 <= len(items) <= MAX_ITEMS:
            raise field_error("items", f"must be a list of 1 to {MAX_ITEMS} items")
        tags = _texts(data.get("document_tags"), "document_tags")
        nodes = [_node(item, number, tags) for number, item in enumerate(items)]
        self.ensure_bank(bank)
        for document in _replaced_documents(items):
            forget_owned(self, document_filter(bank, document))
        owner = {"agent_id": bank, "visibility": "user"}
        text = f"retain {len(nodes)} items"
        written = self.post_native(
            "/v1/memory/write", {"input_text": text, **owner, "nodes": nodes}, idempotent=True
        )
        if not data.get("async") and "embedding_backfill" in written:
            account_id = UUID(str(written["tenant_id"]))
            wait_for_embeddings(account_id, written["embedding_backfill"]["event_ids"])
        return {
            "success": True,
            "bank_id": bank,
            "items_count": len(nodes),
            "async": bool(data.get("async")),
            "operation_id": str(written["commit_id"]) if written["commit_id"] else None,
            "usage": NO_USAGE,
        }


def document_filter(bank: str, document: str) -> dict[str, Any]:
    """Return the native request for the memories of a document."""
    return {"agent_id": bank, "filters": {"metadata": {"document_id": document}}}


def _replaced_documents(items: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the documents whose earlier memories the items replace."""
    return {
        item["document_id"]
        for item in items
        if item.get("document_id") and item.get("update_mode") != "append"
    }


def _node(item: Any, number: int, document_tags: Sequence[str]) -> dict[str, Any]:
    """Return an item as a node of a native write."""
    path = f"items.{number}"
    if not isinstance(item, Mapping):
        raise field_error(path, "must be an object")
    metadata = item.get("metadata") or {}
    own = {name: item[name] for name in OWN_FIELDS if item.get(name)}
    if not isinstance(metadata, Mapping) or not all(isinstance(v, str) for v in own.values()):
        raise field_error(f"{path}.metadata", "must be an object, context and document_id texts")
    entities = item.get("entities") or []
    if not isinstance(entities, list):
        raise field_error(f"{path}.entities", "must be a list")
    names = [each.get("text") if isinstance(each, Mapping) else each for each in entities]
    return {
        "type": "event" if item.get("strategy") == "experience" else "fact",
        "text": _content(item.get("content"), path),
        "metadata": {**metadata, **own},
        "tags": [*_texts(item.get("tags"), f"{path}.tags"), *document_tags],
        "entities": names,
        "observed_at": item.get("timestamp") or item.get("event_date"),
    }


def _content(content: Any, path: str) -> Any:
    """Return the text of a content; blocks other than text are refused."""
    if not isinstance(content, list):
        return content
    texts = [block.get("text") for block in content if isinstance(block, Mapping)]
    if len(texts) != len(content) or not all(isinstance(text, str) for text in texts):
        raise field_error(f"{path}.content", "has a block that is not text")
    return "\n".join(map(str, texts))


def _texts(value: Any, path: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise field_error(path, "must be a list of texts")
    return value


class Recall(BankView):
    """Recall memories of a bank, best first, within a number of tokens."""

    def post(self, request: HttpRequest, bank: str) -> Any:
        data = self.body()
        response = self.recall(bank, data)
        hits = _within_tokens(response["results"], data.get("max_tokens"))
        include = data.get("include") if isinstance(data.get("include"), Mapping) else {}
        chunks = {str(hit["id"]): _chunk(hit) for hit in hits}
        return {
            "results": [memory_output(hit) for hit in hits],
            "trace": {"decisions": response["decisions"]} if data.get("trace") else None,
            "entities": None,
            "chunks": chunks if (include or {}).get("chunks") is not None else None,
            "source_facts": None,
        }

    def recall(self, bank: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer of the native search. Raise NotFound if there is no such bank."""
        conditions: list[Mapping[str, Any]] = [{"kind": {"ne": PROFILE_KIND}}]
        conditions += tag_conditions(data.get("tags"), data.get("tags_match") or "any")
        window = data.get("temporal_window")
        window = window if isinstance(window, Mapping) else {}
        body = {
            "query": data.get("query"),
            "agent_id": bank,
            "limit": LIMITS.get(str(data.get("budget")), LIMITS["mid"]),
            "filters": {"AND": conditions},
            "explain": bool(data.get("trace")),
        }
        for name, native in (("start", "observed_after"), ("end", "observed_before")):
            if window.get(name):
                body[native] = window[name]
        answer = self.post_native("/v1/memory/search", body)
        if not answer["results"]:
            self.require_bank(bank)
        types = _texts(data.get("types"), "types")
        hits = [hit for hit in answer["results"] if not types or fact_type(hit["kind"]) in types]
        if data.get("tags_match") == "exact":
            hits = [hit for hit in hits if set(hit["tags"]) == set(data.get("tags") or [])]
        return {"results": hits, "decisions": answer["decisions"]}


def tag_conditions(tags: Any, match: Any) -> list[Mapping[str, Any]]:
    """Return the filters for tags: any or all of them, with or without untagged memories."""
    names = _texts(tags, "tags")
    if not names:
        return []
    each: list[Mapping[str, Any]] = [{"tags": name} for name in names]
    untagged = {"tags": {"eq": None}}
    options: Mapping[str, list[Mapping[str, Any]]] = {
        "any": [{"OR": [*each, untagged]}],
        "any_strict": [{"OR": each}],
        "all": [{"OR": [{"AND": each}, untagged]}],
        "all_strict": each,
        "exact": each,
    }
    if not isinstance(match, str) or match not in options:
        raise field_error("tags_match", f"must be one of {', '.join(options)}")
    return options[match]


def fact_type(kind: str) -> str:
    if kind in EXPERIENCE:
        return "experience"
    return "observation" if kind in OBSERVATION else "world"


def memory_output(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return a native memory or search result as a recalled memory."""
    metadata = memory["metadata"]
    output = {
        "id": str(memory["id"]),
        "text": memory["text"],
        "type": fact_type(memory["kind"]),
        "entities": memory.get("entities", []),
        "context": metadata.get("context"),
        "occurred_start": memory["observed_at"],
        "occurred_end": None,
        "mentioned_at": memory["created_at"],
        "document_id": metadata.get("document_id"),
        "metadata": {k: str(v) for k, v in metadata.items() if k not in OWN_FIELDS},
        "chunk_id": str(memory["id"]),
        "tags": memory["tags"],
        "source_fact_ids": None,
    }
    if "score" in memory:
        parts = memory["explain"]["parts"] if "explain" in memory else {}
        output["scores"] = {
            "final": memory["score"],
            "reranker": parts.get("rerank"),
            "semantic": parts.get("context") or parts.get("dense"),
            "keyword": parts.get("lexical"),
        }
    return output


def _chunk(hit: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": str(hit["id"]), "text": hit["text"], "chunk_index": 0}


def _within_tokens(hits: Sequence[Mapping[str, Any]], budget: Any) -> list[Mapping[str, Any]]:
    """Return the best memories whose texts fit the budget together."""
    left = DEFAULT_TOKENS if budget is None else budget
    if isinstance(left, bool) or not isinstance(left, int) or left < 1:
        raise field_error("max_tokens", "must be a positive number")
    fitting = []
    for hit in hits:
        left -= tokens.count(hit["text"])
        if left < 0:
            break
        fitting.append(hit)
    return fitting


@extend_schema(exclude=True)
class MemoryList(BankReport):
    """List the memories of a bank, newest first."""

    def report(self, entries: EntryQuerySet, bank: str, **parts: str) -> dict[str, Any]:
        limit, offset = self.read_page()
        query = self.request.query_params
        if "\0" in (text := query.get("q", "")):
            raise field_error("q", "must not contain NUL")
        if text:
            entries = entries.filter(Q(content__icontains=text))
        if kind := query.get("type"):
            kinds = {"experience": EXPERIENCE, "observation": OBSERVATION}
            others = Q(kind__in=[*EXPERIENCE, *OBSERVATION])
            entries = entries.filter(Q(kind__in=kinds[kind]) if kind in kinds else ~others)
        page = entries.order_by("-created_at", "-pk").with_verify_on_read(self.account)
        sealed = withhold_mismatches(self.account, list(page[offset : offset + limit]))
        items = [_list_item(serialize_entry(entry)) for entry in sealed]
        return {"items": items, "total": entries.count(), "limit": limit, "offset": offset}


def _list_item(memory: Mapping[str, Any]) -> dict[str, Any]:
    output = memory_output(memory)
    return {
        **{name: output[name] for name in ("id", "text", "document_id", "tags", "metadata")},
        "context": output["context"] or "",
        "date": memory["observed_at"],
        "fact_type": output["type"],
        "entities": ", ".join(memory["entities"]),
        "state": memory["status"],
    }
