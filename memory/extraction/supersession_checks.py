"""Whether a fact may replace or change a memory, as a chat model decided. Pure.

A model may be wrong, or obey a message that asks it to remove other memories, and the memories that
it is shown are only the nearest ones. So the texts themselves must show the relation.
"""

import re

from kmapp.text.terms import extract_terms
from memory.review.contradictions import announces_change, find_contrast, remove_contrasted_values

MIN_SAME_SUBJECT = 0.5  # share of the terms without numbers, dates, negations and opposites
MIN_SAME_STATEMENT = 0.65  # share of the terms of two statements that differ in one word
MIN_RETAINED_SHARE = 0.6  # share of a memory's terms that its new text must contain
# Verbs of changing, ending and beginning, and the particle that ends a Chinese sentence about a
# new state.
_CHANGE_OF_STATE = re.compile(
    r"\b(?:became|become|becomes|switch(?:ed|es)|left|quit|stopped|ended|gave up|given up|sold|lost"
    r"|died|cancell?ed|divorced|separated|retired|graduated|promoted|renamed|started|began"
    r"|replac(?:es|ed)|chang(?:es|ed)|mov(?:es|ed)|formerly|previously|used to)\b"
    r"|搬|换|改|戒|辞|停止|放弃|卖掉|成为|变成|升为|取消|结束|去世|毕业|分手|曾经|原来|了(?=[，。！,.!]|$)",
    re.IGNORECASE,
)


def list_shared_terms(one: str, other: str) -> frozenset[str]:
    """Return the terms of both texts without their subject."""
    terms_of_one, terms_of_other = _remove_subject(one, other)
    return terms_of_one & terms_of_other


def is_contradiction(fact: str, memory: str, *, nearest: bool) -> bool:
    """Return whether a fact can replace a memory.

    It can if both state different values for one subject, if they are the same statement except
    for a word, or if the fact reports a change and either shares a term with the memory or is
    `nearest`, that is, has no more similar memory.
    """
    fact_terms, memory_terms = _remove_subject(
        remove_contrasted_values(fact), remove_contrasted_values(memory)
    )
    if find_contrast(fact, memory) and _compute_dice(fact_terms, memory_terms) >= MIN_SAME_SUBJECT:
        return True
    fact_terms, memory_terms = frozenset(extract_terms(fact)), frozenset(extract_terms(memory))
    if _compute_dice(fact_terms, memory_terms) >= MIN_SAME_STATEMENT:
        return True
    return _reports_change(fact) and (nearest or bool(list_shared_terms(fact, memory)))


def is_retained(text: str, memory: str) -> bool:
    """Return whether a new text of a memory contains most of it."""
    before = set(extract_terms(memory))
    return len(before & set(extract_terms(text))) >= MIN_RETAINED_SHARE * len(before)


def _reports_change(text: str) -> bool:
    return announces_change(text) or bool(_CHANGE_OF_STATE.search(text))


def _remove_subject(one: str, other: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms of both texts, without the first one if it is the subject of both."""
    terms_of_one, terms_of_other = extract_terms(one), extract_terms(other)
    subject = {terms_of_one[0]} & {terms_of_other[0]} if terms_of_one and terms_of_other else set()
    return frozenset(terms_of_one) - subject, frozenset(terms_of_other) - subject


def _compute_dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Dice coefficient; two empty sets are equal."""
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 1.0
