"""The account of one call: tokens by section and by item, decisions, citations, cost. Pure.

Key names of `context_cost` are those that agents' frameworks agreed on. The parts sum up: `total`
is `system` + `history` + `tools_schema` + `tool_results` + `injections` + `memory_knowledge`, and
each of these is the sum of its items.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context.assembly.budget import Draft, Row
from context.assembly.calls import Snippet
from context.assembly.messages import calls_of
from context.assembly.prompt import REFERENCES, Part, prefix_sha256, tokens_of
from context.assembly.token_counts import of_results

SECTIONS = (
    *("system", "tools_schema", "history", "tool_results", "injections", "memory_knowledge"),
)
MILLION = 1_000_000
Item = dict[str, Any]


def reported(draft: Draft) -> dict[str, Any]:
    """The report of a call that fits."""
    items = items_of(draft)
    estimated = dict.fromkeys(SECTIONS, 0)
    for item in items:
        estimated[item["section"]] += item["tokens"]
    prefix, tail = tokens_of(draft.prefix), tokens_of(draft.tail)
    schema = estimated["tools_schema"]
    return {
        "context_window_tokens": draft.material.window,
        "reserved_output_tokens": draft.material.reserve,
        "estimated_tokens": {"total": sum(estimated.values()), **estimated},
        "prefix_tokens": prefix + schema,
        "tail_tokens": tail,
        "prefix_sha256": prefix_sha256(draft.prefix, draft.tools),
        "decisions": list(draft.decisions),
        "items": items,
        "citations": citations_of(draft),
        "tool_profile": draft.profile,
    }


def items_of(draft: Draft) -> list[Item]:
    return [
        *(_part("system", part) for part in draft.prefix),
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
        *(item for row in draft.rows for item in _row(row)),
        *(item for part in draft.tail for item in _tail(part, draft.snippets)),
    ]


def _part(section: str, part: Part) -> Item:
    return {"section": section, "kind": "section", "name": part.name, "tokens": part.tokens}


def _row(row: Row) -> list[Item]:
    """A message: its own words, and apart from them what tools returned in it."""
    results = of_results(row.message)
    common: Item = {"at": row.at, "role": row.message["role"], "state": row.state}
    items: list[Item] = [
        {"section": "history", "kind": "message", **common, "tokens": row.tokens - results}
    ]
    if names := [call.name for call in calls_of(row.message)]:
        items[0]["calls"] = names
    if results:
        items.append({"section": "tool_results", "kind": "result", **common, "tokens": results})
    return items


def _tail(part: Part, snippets: Sequence[Snippet]) -> list[Item]:
    if part.name != REFERENCES:
        return [_part("injections", part)]
    shown: list[Item] = [
        {
            "section": "memory_knowledge",
            "kind": "snippet",
            "source": each.source,
            "ref": each.ref,
            "score": each.score,
            "trust": each.trust,
            "why": dict(each.why),
            "tokens": each.tokens,
        }
        for each in snippets
    ]
    fence = part.tokens - sum(item["tokens"] for item in shown)
    return [
        *shown,
        {"section": "memory_knowledge", "kind": "fence", "name": part.name, "tokens": fence},
    ]


def citations_of(draft: Draft) -> list[Mapping[str, Any]]:
    """Of every memory, passage, lore and rule that is in the call."""
    found = [
        {**each.citation, "source": each.source, "trust": each.trust} for each in draft.snippets
    ]
    rules = [
        {**each, "source": "rules", "trust": "trusted"} for each in draft.material.bound.citations
    ]
    return [*found, *rules]


def tool_tokens(items: Iterable[Item]) -> dict[str, int]:
    """By tool, what its schema took."""
    found: dict[str, int] = {}
    for item in items:
        if item["kind"] == "tool":
            found[item["name"]] = found.get(item["name"], 0) + item["tokens"]
    return found


def called_tools(items: Iterable[Item]) -> list[str]:
    """The tools that the conversation, as far as it was sent, has calls of."""
    return sorted({name for item in items for name in item.get("calls", ())})


def cost_of(price: Mapping[str, Any] | None, tokens: Mapping[str, int]) -> float | None:
    """Money for these tokens, or None where no price is known.

    `input`, `output` and `cached` are prices for a million; `cached` tokens are among `input`.
    """
    if not price:
        return None
    cached = min(tokens.get("cached", 0), tokens.get("input", 0))
    fresh = tokens.get("input", 0) - cached
    cost = fresh * price.get("input", 0.0) + tokens.get("output", 0) * price.get("output", 0.0)
    cost += cached * price.get("cached", price.get("input", 0.0))
    return float(round(cost / MILLION, 8))
