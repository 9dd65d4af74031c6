"""Queries and candidates with all kinds of signals, for property tests of ranking."""

from uuid import UUID

from hypothesis import strategies as st

from kmapp.search.bm25 import MAX_MASK_TERMS
from kmapp.search.candidate_signals import E5_SCALE, Candidate, Query

LONG = {f"w{number}": 5.0 - number / 20 for number in range(MAX_MASK_TERMS + 5)}
QUERIES = [
    Query(text="When did Ann move to the lake?", idf={"ann": 4.3, "lake": 3.1, "move": 2.9}),
    Query(text="小红什么时候搬到青埠", idf={"青埠": 6.1, "小红": 4.7, "搬到": 2.3}),
    Query(text="What is 茉莉花茶 of Ann?", idf={"茉莉花茶": 5.9, "ann": 4.1}),
    Query(text=" ".join(LONG), idf=LONG),
    Query(text="Who are you?", idf={}),
    Query(text="Ann", idf={"ann": 0.0}),
]
TEXTS = [
    "",
    "Ann: I moved to a lake in May 2024, with 3 sisters",
    "Ann: hello!",
    "小红说：我上周搬到了青埠",
    "We sailed on the pond last summer",
    "w3 w64 and w2",
]


def key(number: int) -> str:
    return str(UUID(int=number))


# Repeated values, because equal scores are in the order of ids.
shares = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1)
cosines = st.sampled_from([None, E5_SCALE.low, 0.85, E5_SCALE.high]) | st.floats(-1, 1)
candidate_lists = st.lists(
    st.builds(
        Candidate,
        id=st.integers(1, 12).map(key),
        cosine=cosines,
        context=cosines,
        bm25=st.sampled_from([0.0, 4.0]) | st.floats(0, 500),
        term_mask=st.integers(0, 7) | st.integers(0, 2**MAX_MASK_TERMS - 1),
        neighbours=st.lists(st.integers(1, 13).map(key), max_size=3),
        links=st.dictionaries(st.integers(1, 13).map(key), shares, max_size=3),
        run=st.sampled_from(["", "r1", "r2"]),
        text=st.sampled_from(TEXTS),
        is_question=st.booleans(),
        importance=shares,
        salience=shares,
        pinned=st.booleans(),
        fresh=shares,
    ),
    unique_by=lambda candidate: candidate.id,
)
