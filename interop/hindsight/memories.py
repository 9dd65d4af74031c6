"""Memories of a bank: recall and list."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from drf_spectacular.utils import extend_schema

from interop.field_validation import field_error, read_texts
from interop.hindsight.base_views import PROFILE_KIND, BankReport, BankView
from interop.hindsight.serialize import EXPERIENCE, OBSERVATION, fact_type, serialize_memory
from kmapp.ledger.read_verification import withhold_mismatches
from kmapp.text import token_counter
from memory.api.serialize import serialize_entry
from memory.models import EntryQuerySet, MemoryEntry
from memory.retrieval.filter_expressions import MAX_VALUES

DEFAULT_TOKENS = 4096
LIMITS = {"low": 20, "mid": 50, "high": 200}  # memories that a budget considers
MAX_SEARCHES = 5  # of a recall with exact tags


class Recall(BankView):
    """Recall memories of a bank, best first, within a number of tokens."""

    def post(self, request: HttpRequest, bank: str) -> Any:
        data = self.body()
        response = self.recall(bank, data)
        hits = _within_tokens(response["results"], data.get("max_tokens"))
        include = data.get("include") if isinstance(data.get("include"), Mapping) else {}
        chunks = {str(hit["id"]): _chunk(hit) for hit in hits}
        return {
            "results": [serialize_memory(hit) for hit in hits],
            "trace": {"decisions": response["decisions"]} if data.get("trace") else None,
            "entities": None,
            "chunks": chunks if (include or {}).get("chunks") is not None else None,
            "source_facts": None,
        }

    def recall(self, bank: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer of the native search. Raise NotFound if there is no such bank."""
        names = read_texts(data.get("tags"), "tags")
        is_exact = bool(names) and data.get("tags_match") == "exact"
        conditions = [_kind_condition(read_texts(data.get("types"), "types"))]
        if not is_exact:
            conditions += tag_conditions(names, data.get("tags_match") or "any")
        body = {
            "query": data.get("query"),
            "agent_id": bank,
            "limit": LIMITS.get(str(data.get("budget")), LIMITS["mid"]),
            "filters": {"AND": conditions},
            "explain": bool(data.get("trace")),
        }
        if is_exact:
            answer = self._search_exact(body, names)
        else:
            answer = self.post_native("/v1/memory/search", body)
        if not answer["results"]:
            self.require_bank(bank)
        return {"results": answer["results"], "decisions": answer["decisions"]}

    def _search_exact(self, body: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer of the native search, with those results that have no other tags.

        No filter states that. So the search is repeated without the other tags of its results.
        """
        tags, excluded = set(names), set[str]()
        searches = 0
        while True:
            conditions = [*body["filters"]["AND"], *_exclude_tags(excluded)]
            request = {**body, "tags": names, "filters": {"AND": conditions}}
            answer, searches = self.post_native("/v1/memory/search", request), searches + 1
            others = [sorted(set(hit["tags"]) - tags) for hit in answer["results"]]
            if searches == MAX_SEARCHES or not any(others):
                hits = [hit for hit in answer["results"] if set(hit["tags"]) == tags]
                return {"results": hits, "decisions": answer["decisions"]}
            excluded |= {names[0] for names in others if names}


def _kind_condition(types: Sequence[str]) -> Mapping[str, Any]:
    """Return the filter for the kinds of these types, or for all but profiles."""
    if not types:
        return {"kind": {"ne": PROFILE_KIND}}
    kinds = [kind for kind in MemoryEntry.Kind.values if fact_type(kind) in types]
    return {"kind": {"in": [kind for kind in kinds if kind != PROFILE_KIND]}}


def _exclude_tags(names: set[str]) -> list[Mapping[str, Any]]:
    """Return the filters for memories without these tags."""
    values = sorted(names)
    starts = range(0, len(values), MAX_VALUES)
    return [{"NOT": {"tags": {"in": values[start : start + MAX_VALUES]}}} for start in starts]


def tag_conditions(tags: Any, match: Any) -> list[Mapping[str, Any]]:
    """Return the filters for tags: any or all of them, with or without untagged memories."""
    names = read_texts(tags, "tags")
    untagged = {"tags": {"eq": None}}
    if not names:
        return [untagged] if match == "exact" else []
    each: list[Mapping[str, Any]] = [{"tags": name} for name in names]
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


def _chunk(hit: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": str(hit["id"]), "text": hit["text"], "chunk_index": 0}


def _within_tokens(hits: Sequence[Mapping[str, Any]], budget: Any) -> list[Mapping[str, Any]]:
    """Return the best memories whose texts fit the budget together."""
    left = DEFAULT_TOKENS if budget is None else budget
    if isinstance(left, bool) or not isinstance(left, int) or left < 1:
        raise field_error("max_tokens", "must be a positive number")
    fitting = []
    for hit in hits:
        left -= token_counter.count_tokens(hit["text"])
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
    output = serialize_memory(memory)
    return {
        **{name: output[name] for name in ("id", "text", "document_id", "tags", "metadata")},
        "context": output["context"] or "",
        "date": memory["observed_at"],
        "fact_type": output["type"],
        "entities": ", ".join(memory["entities"]),
        "state": memory["status"],
    }
