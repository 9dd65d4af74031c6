"""Similarity of texts, three-way diffs and the layout of neighbours."""

import pytest

from kmapp.web.three_way_merge import ChangedBy, diff_three_way
from memory.review.contradictions import find_contrast, remove_contrasted_values
from memory.review.similarity import compare_texts, compute_closeness
from memory.topics.neighbour_circle_layout import (
    HEIGHT,
    MAX_SPOTS,
    WIDTH,
    place_on_circle,
    shorten_name,
)

# The new text, the existing text, the cosine of their vectors, and their relation.
PAIRS = [
    ("At the spring tasting a table has six seats at most.",
     "The spring tasting seats at most six people a table.", 0.982, "duplicate"),
    ("A colleague has to agree to refunds over 300.",
     "Refunds above 300 need a colleague's agreement.", 0.974, "duplicate"),
    ("Deploys to production happen on Tuesdays.",
     "Production deploys are done every Tuesday.", 0.959, "duplicate"),
    ("会员积分每年六月底清零，过期前可兑换白茶。", "会员积分每年六月底到期清零，之前可以兑换白茶。",
     0.995, "duplicate"),
    ("里昂仓库周五下午六点关门。", "里昂仓库每周五下午六点关门。", 0.989, "duplicate"),
    ("The warehouse in Lyon closes at six on Fridays.",
     "The warehouse in Lyon closes at five on Fridays.", 0.981, "contradiction"),
    ("Opened tea can be returned.", "Opened tea cannot be returned.", 0.955, "contradiction"),
    ("Guests are allowed to bring dogs into the shop.",
     "Guests are not allowed to bring dogs into the shop.", 0.961, "contradiction"),
    ("Smoking is forbidden on the terrace.", "Smoking is allowed on the terrace.",
     0.97, "contradiction"),
    ("里昂仓库周五下午五点关门。", "里昂仓库周五下午六点关门。", 0.991, "contradiction"),
    ("林雯喜欢加糖的白茶。", "林雯不喜欢加糖的白茶。", 0.988, "contradiction"),
    ("店内允许带狗。", "店内禁止带狗。", 0.987, "contradiction"),
    ("门店每周一休息。", "门店每周三休息。", 0.982, "contradiction"),
    ("The shop now opens at eight, no longer at nine.", "The shop opens at nine.", 0.956, "update"),
    ("Since October the newsletter goes out on Mondays.",
     "The newsletter goes out on Thursdays.", 0.951, "update"),
    ("门店改为早上八点开门。", "门店早上九点开门。", 0.982, "update"),
    ("Refunds up to 300 are given at once; above that a colleague has to agree, and form R7 is"
     " filled in.",
     "Refunds up to 300 are given at once; above that a colleague has to agree.", 0.976, "update"),
    ("The Lyon warehouse has three loading docks.",
     "The warehouse in Lyon closes at six on Fridays.", 0.926, "similar"),
    ("里昂仓库有三个装卸口。", "里昂仓库周五下午六点关门。", 0.967, "similar"),
    ("Jonas Quill works in the Brackenford shop.",
     "Petra works at the counter of the Brackenford shop.", 0.931, "similar"),
    ("Cats sleep a lot.", "The warehouse in Lyon closes at six on Fridays.", 0.864, None),
    ("里昂仓库周五下午六点关门。", "林雯喜欢白茶，不喜欢加糖。", 0.919, None),
]  # fmt: skip


@pytest.mark.parametrize(("new", "old", "cosine", "relation"), PAIRS)
def test_classifies_pairs(new: str, old: str, cosine: float, relation: str | None) -> None:
    meaning = compute_closeness(cosine, low=0.77, high=0.95)
    assert compare_texts(new, old, meaning=meaning).relation == relation


def test_words_alone_never_contradict_the_relation() -> None:
    """Without a vector a pair may be similar or unrelated, never the opposite."""
    for new, old, _, relation in PAIRS:
        assert compare_texts(new, old, meaning=None).relation in {relation, "similar", None}, new


def test_contrast_lists_the_differing_words() -> None:
    result = find_contrast("Open until six on Fridays.", "Open until 5 on Mondays.")
    assert set(result.list_pairs()) == {("six", "5"), ("Fridays", "Mondays")}
    assert find_contrast("周日两点开门。", "周日十二点开门。").list_pairs() == [("两点", "十二点")]
    assert find_contrast("Do not call.", "Call.").negated == "new"
    assert find_contrast("可以退。", "不可以退。").negated == "old"


def test_equal_values_are_no_contrast() -> None:
    for one, other in (("6 seats", "six seats"), ("1,000 tins", "1000 tins"), ("12点", "十二点")):
        assert not find_contrast(one, other), one
    for one, other in (("Open on Frıday", "Open on Friday"), ("FİVE tins", "5 tins")):
        assert not find_contrast(one, other), one
    assert find_contrast("ſix tins", "7 tins").list_pairs() == [("ſix", "7")]
    assert not find_contrast("Dogs are not allowed.", "Dogs are forbidden.")
    assert not find_contrast("不锈钢壶", "钢壶")


def test_subject_excludes_values() -> None:
    assert remove_contrasted_values("里昂仓库周五下午六点关门").split() == [
        "里昂仓库",
        "下午",
        "点关门",
    ]


def test_rare_words_weigh_more() -> None:
    new, old = "Borealis kettles need descaling.", "Aurora kettles need descaling."
    common = compare_texts(
        new, old, meaning=None, weights=dict.fromkeys(("borealis", "aurora"), 1.0)
    )
    names = {"boreali": 9.0, "aurora": 9.0, "kettl": 0.5, "need": 0.5, "descal": 0.5}
    assert compare_texts(new, old, meaning=None, weights=names).words < common.words / 2


@pytest.mark.parametrize(
    ("base", "theirs", "mine", "changed_by", "value_to_edit"),
    [
        ("a", "a", "a", ChangedBy.NOBODY, "a"),
        ("a", "a", "b", ChangedBy.ME, "b"),
        ("a", "b", "a", ChangedBy.THEM, "b"),
        ("a", "b", "b", ChangedBy.SAME, "b"),
        ("a", "b", "c", ChangedBy.BOTH, "c"),
        ([], ["x"], [], ChangedBy.THEM, ["x"]),
    ],
)
def test_three_way_diff(
    base: object, theirs: object, mine: object, changed_by: ChangedBy, value_to_edit: object
) -> None:
    [field] = diff_three_way(["f"], base={"f": base}, theirs={"f": theirs}, mine={"f": mine})
    assert (field.changed_by, field.value_to_edit) == (changed_by, value_to_edit)


@pytest.mark.parametrize("number", [1, 2, 3, 7, MAX_SPOTS, MAX_SPOTS + 20])
def test_neighbours_do_not_overlap(number: int) -> None:
    spots = place_on_circle([(f"n{i}", "next", True) for i in range(number)])
    assert len({(spot.x, spot.y) for spot in spots}) == len(spots) == min(number, MAX_SPOTS)
    assert all(0 < spot.x < WIDTH and 0 < spot.y < HEIGHT for spot in spots)


def test_chinese_characters_take_two_columns() -> None:
    assert shorten_name("a" * 26) == "a" * 26
    assert shorten_name("a" * 27) == "a" * 26 + "…"
    assert shorten_name("茶" * 14) == "茶" * 13 + "…"
    assert shorten_name("one\n two") == "one two"
