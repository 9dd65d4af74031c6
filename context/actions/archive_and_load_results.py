"""Loading of archived results into messages, instead of their placeholders."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from context.actions.insert_placeholders import MISSING, Preparation, Prepared, archive_results
from context.archives.retrieval import (
    EmbeddedQuery,
    Relevance,
    load_archive,
    load_passages,
    measure_relevance,
    readable_archives,
)
from context.archives.tool_result_selection import (
    build_replacements,
    find_back_reference,
    find_references,
)
from context.assembly.messages import Message, last_user_text, replace_texts
from context.assembly.retrieval_request import shorten_query
from context.models import ContextSettings
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.errors import NotFound, TooLarge
from kmapp.text import token_counter

MIN_RELEVANCE = 0.34  # relevance from which a result is loaded
# Characters of loaded results in one response. A conversation may have thousands of placeholders
# of one result.
MAX_LOADED = 20_000_000


def prepare_messages(
    account_id: UUID, actor: Actor, messages: Sequence[Message], preparation: Preparation
) -> Prepared:
    """Insert placeholders, then load the selected results. Opens `acting` itself."""
    with acting(account_id):
        settings = ContextSettings.objects.get_or_default(account_id)
        archived = archive_results(settings, actor, messages, preparation)
    query = preparation.query or shorten_query(last_user_text(messages))
    question = EmbeddedQuery(account_id=account_id, text=query, decisions=archived.decisions)
    selected = _select_archives(question, archived.messages, preparation)
    texts, loaded = _load_texts(question, preparation, selected)
    replacements = build_replacements(find_references(archived.messages), texts)
    size = sum(map(len, replacements.values()))
    if size > MAX_LOADED:
        raise TooLarge(
            f"The loaded results have {size:,} characters in all their places, more than "
            f"{MAX_LOADED:,}. Load fewer, or send max_tokens."
        )
    return Prepared(
        messages=replace_texts(archived.messages, replacements),
        archived=archived.archived,
        new_ids=archived.new_ids,
        loaded=loaded,
        decisions=archived.decisions,
    )


def _select_archives(
    question: EmbeddedQuery, messages: Sequence[Message], preparation: Preparation
) -> dict[UUID, Mapping[str, Any]]:
    selected: dict[UUID, Mapping[str, Any]] = {
        pk: {"strategy": "named"} for pk in dict.fromkeys(preparation.load_uuids)
    }
    reference = find_back_reference(question.text)
    needs_reference = preparation.load == "keywords"
    if preparation.load == "none" or not question.text or (needs_reference and not reference):
        return selected
    query = question.text.replace(reference, " ") if reference else question.text
    query_vector = question.query_vector if preparation.load != "keywords" else None
    account_id = question.account_id
    with acting(account_id):
        rows = readable_archives(account_id, preparation.within)
        rows = rows.filter(pk__in=list(find_references(messages)))
        relevances = measure_relevance(account_id, query, query_vector, rows)
    scores = {
        pk: _score(relevance, preparation.load, reference)
        for pk, relevance in relevances.items()
        if pk not in selected
    }
    best = sorted(scores, key=lambda pk: (-scores[pk], pk))
    for pk in [pk for pk in best if scores[pk] >= MIN_RELEVANCE][: preparation.load_limit]:
        why = {"strategy": preparation.load, "score": round(scores[pk], 4), "words": reference}
        selected[pk] = why
    return selected


def _score(relevance: Relevance, load: str, reference: str) -> float:
    """Return the score from 0 to 1. Terms count only after a phrase that refers back."""
    words = relevance.term_share if reference and load != "semantic" else 0.0
    return max(words, relevance.similarity if load != "keywords" else 0.0)


def _load_texts(
    question: EmbeddedQuery, preparation: Preparation, selected: Mapping[UUID, Mapping[str, Any]]
) -> tuple[dict[UUID, str], list[Mapping[str, Any]]]:
    texts: dict[UUID, str] = {}
    loaded: list[Mapping[str, Any]] = []
    for pk, why in selected.items():
        try:
            text, part = _load_text(question, preparation, pk)
        except NotFound:
            text, part = "", MISSING
        if text:
            texts[pk] = text
        size = token_counter.count_tokens(text)
        loaded.append({"uuid": pk, "why": why, "tokens": size, "part": part})
    return texts, loaded


def _load_text(question: EmbeddedQuery, preparation: Preparation, pk: UUID) -> tuple[str, str]:
    """Return the text that replaces the placeholder, and its part; no text if no passage fits."""
    account_id = question.account_id
    within, max_tokens = preparation.within, preparation.max_tokens
    if max_tokens:
        loaded = load_passages(question, pk, within, max_tokens, has_header=True)
        return loaded.text if loaded.passages else "", "passages"
    with acting(account_id):
        return load_archive(account_id, pk, within).result_full, "whole"
