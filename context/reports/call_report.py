"""The report of one call: tokens by section and by item, decisions, citations, cost. Pure.

The keys of `context_cost` follow agent frameworks. `total` is `system` + `history` + `tools_schema`
+ `tool_results` + `injections` + `memory_knowledge`, and each of these is the sum of its items.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from context.assembly.budget_enforcement import Draft, MessageRow
from context.assembly.messages import list_calls
from context.assembly.prompt import RenderedSection, count_section_tokens, prefix_digest
from context.assembly.prompt_inputs import Snippet
from context.assembly.token_counts import count_results

SECTIONS = ("system", "tools_schema", "history", "tool_results", "injections", "memory_knowledge")
MILLION = 1_000_000
MAX_COST = 99_999_999  # that a report can store
Item = dict[str, Any]


def build_report(draft: Draft) -> dict[str, Any]:
    items = list_items(draft)
    estimated = dict.fromkeys(SECTIONS, 0)
    for item in items:
        estimated[item["section"]] += item["tokens"]
    return {
        "context_window_tokens": draft.call_input.window,
        "reserved_output_tokens": draft.call_input.reserve,
        "estimated_tokens": {"total": sum(estimated.values()), **estimated},
        "prefix_tokens": count_section_tokens(draft.prefix) + estimated["tools_schema"],
        "tail_tokens": count_section_tokens(draft.tail),
        "prefix_sha256": prefix_digest(draft.prefix, draft.tools),
        "decisions": list(draft.decisions),
        "items": items,
        "citations": list_citations(draft),
        "tool_profile": draft.profile,
    }


def list_items(draft: Draft) -> list[Item]:
    # The retrieved texts are the last part of the tail; a caller may give a section its name.
    end = len(draft.tail) - bool(draft.snippets)
    return [
        *(_section_item("system", part) for part in draft.prefix),
        *(
            {
                "section": "tools_schema",
                "kind": "tool",
                "name": tool.name,
                "group": tool.group,
                "strict": tool.strict,
                "obstacles": list(tool.obstacles),
                "tokens": tool.tokens,
            }
            for tool in draft.tools
        ),
        *(item for row in draft.rows for item in _message_items(row)),
        *(_section_item("injections", part) for part in draft.tail[:end]),
        *(item for part in draft.tail[end:] for item in _list_snippets(part, draft.snippets)),
    ]


def _section_item(section: str, part: RenderedSection) -> Item:
    return {"section": section, "kind": "section", "name": part.name, "tokens": part.tokens}


def _message_items(row: MessageRow) -> list[Item]:
    """Return the items of a message: its text, and separately its tool results."""
    results = count_results(row.message)
    common: Item = {"at": row.index, "role": row.message["role"], "state": row.state}
    items: list[Item] = [
        {"section": "history", "kind": "message", **common, "tokens": row.tokens - results}
    ]
    if names := [call.name for call in list_calls(row.message)]:
        items[0]["calls"] = names
    if results:
        items.append({"section": "tool_results", "kind": "result", **common, "tokens": results})
    return items


def _list_snippets(part: RenderedSection, snippets: Sequence[Snippet]) -> list[Item]:
    snippet_items: list[Item] = [
        {
            "section": "memory_knowledge",
            "kind": "snippet",
            "source": snippet.source,
            "ref": snippet.ref,
            "score": snippet.score,
            "trust": snippet.trust,
            "why": dict(snippet.why),
            "state": "excerpt" if snippet.is_excerpt else "whole",
            "tokens": snippet.tokens,
        }
        for snippet in snippets
    ]
    fence = part.tokens - sum(item["tokens"] for item in snippet_items)
    return [
        *snippet_items,
        {"section": "memory_knowledge", "kind": "fence", "name": part.name, "tokens": fence},
    ]


def list_citations(draft: Draft) -> list[Mapping[str, Any]]:
    citations = [_cite(snippet) for snippet in draft.snippets]
    rules = draft.call_input.rule_outcome.citations
    return [*citations, *({**rule, "source": "rules", "trust": "trusted"} for rule in rules)]


def _cite(snippet: Snippet) -> Mapping[str, Any]:
    citation = {**snippet.citation, "source": snippet.source, "trust": snippet.trust}
    return {**citation, "label": snippet.label} if snippet.label else citation


def pair_citations(report: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Item | None]]:
    """Return each citation with its item; those of rules have none.

    Both are in the order of the prompt. A passage is cited by its document, so that the citation
    has another `ref` than the item. Some reports of older releases have items twice.
    """
    items = [item for item in report["items"] if item["kind"] == "snippet"]
    return [
        (citation, None if citation["source"] == "rules" else item)
        for citation, item in zip_longest(report["citations"], items)
        if citation is not None
    ]


def tokens_by_tool(items: Iterable[Item]) -> dict[str, int]:
    result = Counter[str]()
    for item in items:
        if item["kind"] == "tool":
            result[item["name"]] += item["tokens"]
    return dict(result)


def list_called_tools(items: Iterable[Item]) -> list[str]:
    return sorted({name for item in items for name in item.get("calls", ())})


def calculate_cost(price: Mapping[str, Any] | None, tokens: Mapping[str, int]) -> float | None:
    """Return the cost of these tokens, or None without a price.

    `input`, `output` and `cached` are prices per million tokens; `input` includes `cached` tokens.
    """
    if not price:
        return None
    cached = min(tokens.get("cached", 0), tokens.get("input", 0))
    uncached = tokens.get("input", 0) - cached
    cost = uncached * price.get("input", 0.0) + tokens.get("output", 0) * price.get("output", 0.0)
    cost += cached * price.get("cached", price.get("input", 0.0))
    return float(round(min(cost / MILLION, MAX_COST), 8))
