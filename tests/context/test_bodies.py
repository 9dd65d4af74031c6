"""Parts of calls have one digest, remembered or not."""

from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from context.reports.stored_inputs import body_digest, encode_json, salted_digest

ACCOUNT, OTHER = uuid4(), uuid4()
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(values)
def test_a_remembered_digest_is_that_of_what_is_written(value: object) -> None:
    fresh = salted_digest(ACCOUNT, encode_json(value))
    assert body_digest(ACCOUNT, value) == body_digest(ACCOUNT, value) == fresh
    assert body_digest(OTHER, value) != fresh


def test_what_is_written_otherwise_is_another() -> None:
    alike = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": True, "b": 2}, {"a": 1.0, "b": 2}]
    assert len({body_digest(ACCOUNT, value) for value in alike}) == len(alike)
