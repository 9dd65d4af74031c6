"""Facts may replace only memories that they contradict or refine."""

import itertools

from memory.extraction.supersession_checks import is_contradiction, is_retained

# The fact, the memory, and whether the fact replaces it only if the memory is nearest to it.
REPLACED = [
    ("The meeting is on Friday.", "The meeting is on Thursday.", False),
    ("The user does not eat meat.", "The user eats meat.", False),
    ("The user's favourite colour is green.", "The user's favourite colour is blue.", False),
    ("The user left the orchestra.", "The user plays violin in an orchestra.", False),
    ("The user moved to Quillford.", "The user lives in Ostrey.", True),
    ("会议改到周五。", "会议在周四。", False),
    ("用户现在不吃辣了。", "用户喜欢吃辣。", False),
    ("用户卖掉了那辆红色的车。", "用户开一辆红色的车。", False),
    ("用户戒烟了。", "用户每天抽一包烟。", True),
]
RETAINED = [
    ("The user plays violin and viola in an orchestra.", "The user plays violin in an orchestra."),
    ("用户住在云泊市东区。", "用户住在云泊市。"),
]
UNRELATED = [
    [
        "The user has a dog called Bolt.",
        "The user is allergic to penicillin.",
        "The user plays violin in an orchestra.",
        "The user lives in Ostrey.",
        "The user prefers window seats.",
        "The user did not like the film.",
        "The user has three sisters.",
    ],
    [
        "用户养了一只狗。",
        "用户对青霉素过敏。",
        "用户住在云泊市。",
        "用户坐飞机喜欢靠窗。",
        "用户有三个妹妹。",
        "用户不喜欢这部电影。",
    ],
]


def test_fact_replaces_what_it_contradicts() -> None:
    for fact, memory, only_nearest in REPLACED:
        assert is_contradiction(fact, memory, nearest=True), fact
        assert is_contradiction(fact, memory, nearest=False) is not only_nearest, fact


def test_refined_memory_is_retained() -> None:
    for text, memory in RETAINED:
        assert is_retained(text, memory)


def test_unrelated_memories_are_neither_contradicted_nor_refined() -> None:
    for texts in UNRELATED:
        for fact, memory in itertools.permutations(texts, 2):
            assert not is_contradiction(fact, memory, nearest=True), (fact, memory)
            assert not is_retained(fact, memory), (fact, memory)
