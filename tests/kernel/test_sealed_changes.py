"""Changes of commits, as the verification on read caches them."""

from typing import Any

import pytest

from kmapp.ledger.verified_commit_cache import _pack_changes, is_sealed

CHANGE = {"object": "rules.rule:1", "op": "ADD", "digest": "abc"}


@pytest.mark.parametrize("diff", [None, 5, "text", {"object": 1}, [5], [{}], [{"object": []}]])
def test_malformed_changes_seal_nothing(diff: Any) -> None:
    assert _pack_changes(diff) == b""


def test_other_changes_of_a_malformed_diff_stay_sealed() -> None:
    packed = _pack_changes([5, CHANGE, {**CHANGE, "digest": None}])
    assert is_sealed(packed, "rules.rule:1", "abc")
    assert not is_sealed(packed, "rules.rule:1", "None")
