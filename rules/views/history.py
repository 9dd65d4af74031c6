"""History of a rule: versions, proofs and differences from the active edition."""

from collections.abc import Sequence
from typing import Any

from kmapp.web import version_history
from rules.actions.backtests import MAX_DECISIONS
from rules.actions.rules import DESCRIPTION_FIELDS, RULE_FIELDS
from rules.editing.rendering import compare_rules, format_json
from rules.evaluation.equality import is_equal
from rules.models import Rule, RuleBacktest, RuleVersion

BACKTEST_SIZES = (100, 1_000, MAX_DECISIONS)  # decisions to try a rule on
VERSION_FIELDS = (*DESCRIPTION_FIELDS, *RULE_FIELDS)


def list_versions(rule: Rule) -> tuple[list[dict[str, Any]], bool]:
    """Return versions newest first with commit, proof and changes, and whether there are more."""
    rows = RuleVersion.objects.of(rule.account_id).filter(rule=rule)
    steps, older = version_history.list_versions(rows, rule)
    for step in steps:
        before, after = step["before"], step["state"]
        step["changes"] = _list_changes(before.state, after.state) if before else []
    return steps, older


def _list_changes(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[Any, str, str]]:
    """Return the differing fields. Digests leave out empty values."""
    differ = [name for name in VERSION_FIELDS if not is_equal(before.get(name), after.get(name))]
    return [
        (
            Rule._meta.get_field(name).verbose_name,  # type: ignore[union-attr]
            _format_field(before, name),
            _format_field(after, name),
        )
        for name in differ
    ]


def _format_field(state: dict[str, Any], name: str) -> str:
    value = state.get(name)
    return "" if value is None else value if isinstance(value, str) else format_json(value)


def compare_with_active(rule: Rule, editions: Sequence[Rule]) -> dict[str, Any] | None:
    """Return the active edition with the differences, or None."""
    live = next((one for one in editions if one.state == Rule.State.ACTIVE), None)
    if live is None or live.pk == rule.pk:
        return None
    old, new = live.definition(), rule.definition()
    return {
        "rule": live,
        "old": format_json(old),
        "new": format_json(new),
        "lines": compare_rules(old, new),
    }


def find_last_backtest(rule: Rule) -> dict[str, Any] | None:
    """Return the last backtest for the rule's page."""
    rows = RuleBacktest.objects.of(rule.account_id).filter(rule=rule)
    last = rows.order_by("-created_at").first()
    if last is None:
        return None
    return {
        "run": last,
        "is_of_before": last.version < rule.version and not rule.frozen,
        "examples": [
            {
                "decision": one["decision"],
                "before": one["before"].get("selected"),
                "after": one["after"].get("selected"),
                "whole": format_json(one["after"]),
            }
            for one in last.examples
        ],
    }
