"""Codes of vectors choose the same documents, however they are stored."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kmapp.search.vector_codes import Coder, Vectors, count_products, unpack_codes


def choose_one_by_one(coder: Coder, packed: bytes, query: Vectors, limit: int) -> set[int]:
    """Choose documents as `Coder.find_nearest` does, from the bits of each code."""
    dimensions = len(coder.centre)
    signs = {
        int(code["number"]): np.unpackbits(code["bits"])[:dimensions].astype(bool)
        for code in np.frombuffer(packed, dtype=coder.type)
    }
    different = {pk: int((bits != (query > coder.centre)).sum()) for pk, bits in signs.items()}
    threshold = sorted(different.values())[: count_products(len(signs), limit)][-1]
    products = {
        pk: float((query - coder.centre)[signs[pk]].sum())
        for pk, count in different.items()
        if count <= threshold
    }
    lowest = sorted(products.values(), reverse=True)[:limit][-1]
    return {pk for pk, product in products.items() if product >= lowest}


@given(
    seed=st.integers(0, 2**32),
    dimensions=st.sampled_from([7, 64, 100]),
    count=st.integers(1, 60),
    limit=st.integers(1, 20),
    parts=st.integers(1, 3),
)
def test_codes_in_parts_choose_the_same_documents(
    seed: int, dimensions: int, count: int, limit: int, parts: int
) -> None:
    rng = np.random.default_rng(seed)
    # Whole numbers have exact sums, and equal ones are frequent.
    vectors = rng.integers(-2, 3, (count, dimensions)).astype(np.float32)
    query = rng.integers(-2, 3, dimensions).astype(np.float32)
    coder = Coder(np.zeros(dimensions, dtype=np.float32))
    numbers = rng.permutation(3 * count)[:count].tolist()
    groups = [range(count)[start::parts] for start in range(parts)]
    packed = [
        coder.encode([numbers[place] for place in group], vectors[list(group)])
        for group in groups
        if len(group)
    ]
    chosen = coder.find_nearest([unpack_codes(each, dimensions) for each in packed], query, limit)
    assert len(chosen) >= min(limit, count)
    assert set(chosen) == choose_one_by_one(coder, b"".join(packed), query, limit)


def test_more_products_are_computed_of_many_codes() -> None:
    assert count_products(0, 320) == count_products(80_000, 320) == 1_280
    assert count_products(320_000, 320) == 2 * 1_280
