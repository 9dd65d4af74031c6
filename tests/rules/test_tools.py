"""Which tool a policy leaves: the whole table."""

import pytest

from rules.evaluation.evaluate import select
from rules.evaluation.policy import Policy, merge_effects
from tests.rules.test_policy import rule, tool

CANDIDATES = ("bash", "curl", "grep")


@pytest.mark.parametrize(
    ("lists", "strict", "selected", "ordered", "denied", "fallback"),
    [
        ({}, True, "bash", ("bash", "curl", "grep"), {}, (False, "none")),
        (
            {"deny": ["bash"]},
            True,
            "curl",
            ("curl", "grep"),
            {"bash": "deny_list"},
            (False, "none"),
        ),
        (
            {"allow": ["grep"]},
            True,
            "grep",
            ("grep",),
            {"bash": "not_in_allow_list", "curl": "not_in_allow_list"},
            (False, "none"),
        ),
        (
            {"allow": ["grep", "bash"], "deny": ["bash"]},
            True,
            "grep",
            ("grep",),
            {"bash": "deny_list", "curl": "not_in_allow_list"},
            (False, "none"),
        ),
        ({"prefer": ["grep"]}, True, "grep", ("grep", "bash", "curl"), {}, (False, "none")),
        ({"prefer": ["grep", "curl"]}, True, "grep", ("grep", "curl", "bash"), {}, (False, "none")),
        (
            {"prefer": ["grep"], "deny": ["grep"]},
            True,
            "bash",
            ("bash", "curl"),
            {"grep": "deny_list"},
            (False, "none"),
        ),
        ({"prefer": ["vim"]}, True, "bash", ("bash", "curl", "grep"), {}, (False, "none")),
        (
            {"allow": ["vim"]},
            True,
            None,
            (),
            dict.fromkeys(CANDIDATES, "not_in_allow_list"),
            (False, "allowlist_filtered_all"),
        ),
        (
            {"allow": ["vim"]},
            False,
            "bash",
            ("bash", "curl", "grep"),
            {},
            (True, "allowlist_filtered_all"),
        ),
        (
            {"allow": ["vim"], "deny": ["bash"], "prefer": ["grep"]},
            False,
            "grep",
            ("grep", "curl"),
            {"bash": "deny_list"},
            (True, "allowlist_filtered_all"),
        ),
        (
            {"allow": []},
            True,
            None,
            (),
            dict.fromkeys(CANDIDATES, "not_in_allow_list"),
            (False, "allowlist_filtered_all"),
        ),
        (
            {"deny": ["bash", "curl", "grep"]},
            True,
            None,
            (),
            dict.fromkeys(CANDIDATES, "deny_list"),
            (False, "deny_filtered_all"),
        ),
        (
            {"deny": ["bash", "curl", "grep"]},
            False,
            None,
            (),
            dict.fromkeys(CANDIDATES, "deny_list"),
            (False, "deny_filtered_all"),
        ),
        (
            {"allow": ["grep"], "deny": ["grep"]},
            False,
            "bash",
            ("bash", "curl"),
            {"grep": "deny_list"},
            (True, "allowlist_filtered_all"),
        ),
    ],
    ids=range(15),
)
def test_a_tool_is_selected(
    lists: dict[str, list[str]],
    *,
    strict: bool,
    selected: str | None,
    ordered: tuple[str, ...],
    denied: dict[str, str],
    fallback: tuple[bool, str],
) -> None:
    chosen = select(merge_effects([rule("a", tool(**lists))]), CANDIDATES, strict=strict)
    assert (chosen.selected, chosen.ordered, dict(chosen.denied)) == (selected, ordered, denied)
    assert (chosen.fallback_applied, chosen.fallback_reason) == fallback


def test_a_candidate_named_twice_is_one() -> None:
    assert select(Policy(), ["a", "b", "a"], strict=True).candidates == ("a", "b")
