"""Two people changed one memory: what is offered to the second."""

import pytest

from memory.review.three_way_diff import Moved, diff_three_way
from memory.topics.layout import HEIGHT, MOST, WIDTH, place_on_circle, shortened


@pytest.mark.parametrize(
    ("base", "theirs", "mine", "moved", "offered"),
    [
        ("a", "a", "a", Moved.NOBODY, "a"),
        ("a", "a", "b", Moved.ME, "b"),
        ("a", "b", "a", Moved.THEM, "b"),
        ("a", "b", "b", Moved.ALIKE, "b"),
        ("a", "b", "c", Moved.BOTH, "c"),
        ([], ["x"], [], Moved.THEM, ["x"]),
    ],
)
def test_three_way_diff(
    base: object, theirs: object, mine: object, moved: Moved, offered: object
) -> None:
    [field] = diff_three_way(["f"], base={"f": base}, theirs={"f": theirs}, mine={"f": mine})
    assert (field.moved, field.offered) == (moved, offered)


@pytest.mark.parametrize("number", [1, 2, 3, 7, MOST, MOST + 20])
def test_neighbours_do_not_overlap(number: int) -> None:
    spots = place_on_circle([(f"n{i}", "next", True) for i in range(number)])
    assert len({(spot.x, spot.y) for spot in spots}) == len(spots) == min(number, MOST)
    assert all(0 < spot.x < WIDTH and 0 < spot.y < HEIGHT for spot in spots)


def test_chinese_characters_take_two_columns() -> None:
    assert shortened("a" * 26) == "a" * 26
    assert shortened("a" * 27) == "a" * 26 + "…"
    assert shortened("茶" * 14) == "茶" * 13 + "…"
    assert shortened("one\n two") == "one two"
