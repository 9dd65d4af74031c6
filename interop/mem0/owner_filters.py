"""Filters of mem0, split so that each part names the owner whose memories it selects. Pure.

A native search sees the memories of the one owner that it names. mem0 takes alternatives, such as
`{"OR": [{"user_id": "ann"}, {"agent_id": "planner"}]}`; each becomes one native search.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kmapp.errors import Invalid
from memory.models.entries import OWNER_IDS
from memory.retrieval.filter_expressions import MAX_CONDITIONS, extract_owner_ids

MAX_OWNERS = 20  # native searches for one request
MAX_EXPANSIONS = 1_000  # alternatives that are examined for one request

Filters = Mapping[str, Any]


def split_by_owner(filters: Any) -> list[Filters]:
    """Return filters that each name an owner; together they select what `filters` selects.

    Raise Invalid if a part names no owner, or if there are too many parts.
    """
    if not isinstance(filters, Mapping) or not filters:
        raise _invalid("Send filters with a user_id, agent_id, app_id or run_id.")
    parts: list[Filters] = []
    for part in _alternatives(_conjuncts(filters)):
        if not extract_owner_ids(part):
            raise _invalid(
                "Every alternative of the filters must name a user_id, agent_id, app_id or "
                "run_id. The wildcard * is accepted only for listing, with an admin key."
            )
        parts.append(part)
        if len(parts) > MAX_OWNERS:
            raise _invalid(
                f"The filters name more than {MAX_OWNERS} owners. Send several requests."
            )
    if not parts:
        raise _invalid("The filters offer no alternative. Send a user_id, agent_id or run_id.")
    return parts


def build_option_filters(options: Mapping[str, Any]) -> Filters:
    """Return the filter of the options start_date, end_date and categories of a request."""
    conditions: list[Filters] = [
        {"created_at": {operator: options[name]}}
        for name, operator in (("start_date", "gte"), ("end_date", "lte"))
        if options.get(name)
    ]
    if options.get("categories"):
        conditions.append({"categories": {"in": options["categories"]}})
    return {"AND": conditions} if conditions else {}


def _conjuncts(filters: Filters) -> list[Filters]:
    """Return the conditions that must all hold, with nested AND lists flattened."""
    result: list[Filters] = []
    for name, value in filters.items():
        if name == "AND" and isinstance(value, list) and all(isinstance(v, Mapping) for v in value):
            result.extend(inner for part in value for inner in _conjuncts(part))
        else:
            result.append({name: value})
    return result


def _alternatives(conjuncts: list[Filters]) -> Iterator[Filters]:
    """Expand the first condition that offers several owners, until every part names one."""
    pending: list[Iterator[list[Filters]]] = [iter([conjuncts])]
    for _ in range(MAX_EXPANSIONS):
        while (part := next(pending[-1], None)) is None:
            pending.pop()
            if not pending:
                return
        if len(part) > MAX_CONDITIONS:
            raise _invalid(f"The filters have more than {MAX_CONDITIONS} conditions.")
        whole = {"AND": part}
        choice = None if extract_owner_ids(whole) else _find_choice(part)
        if choice is None:
            yield whole
        else:
            pending.append(_expand(part, *choice))
    raise _invalid("The filters have too many alternatives. Send several requests.")


def _expand(
    conjuncts: list[Filters], index: int, options: list[Filters]
) -> Iterator[list[Filters]]:
    """Yield the conditions with each of the alternatives at this index."""
    others = conjuncts[:index] + conjuncts[index + 1 :]
    for option in options:
        yield [*_conjuncts(option), *others]


def _find_choice(conjuncts: list[Filters]) -> tuple[int, list[Filters]] | None:
    """Return the index of a condition with alternatives, and the alternatives."""
    for index, part in enumerate(conjuncts):
        [(name, value)] = part.items()
        if name == "OR" and isinstance(value, list) and all(isinstance(v, Mapping) for v in value):
            return index, value
        values = value.get("in") if isinstance(value, Mapping) else value
        if name in OWNER_IDS and isinstance(values, list):
            return index, [_choose_owner(name, each, value) for each in values]
    return None


def _choose_owner(name: str, owner: Any, clause: Any) -> Filters:
    """Return the condition for one of the owners, and the other operators of the clause."""
    others = dict(clause) if isinstance(clause, Mapping) else {}
    others.pop("in", None)
    choice: Filters = {name: owner}
    return {"AND": [choice, {name: others}]} if others else choice


def _invalid(message: str) -> Invalid:
    return Invalid(message, issues=[{"path": "filters", "message": message}])
