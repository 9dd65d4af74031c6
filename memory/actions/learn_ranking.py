"""Learn the weights of a ranking, and compare it with the live one on held-out questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.database.ids import IdText
from kmapp.ledger.actions import recording
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.errors import BadVectors, Faulted
from kmapp.providers.query_cache import get_query_vector
from kmapp.search.allowed_objects import AllowedObjects
from kmapp.search.candidate_ranking import RankedCandidates, rank_candidates, rank_signals
from kmapp.search.query_vector import QueryVector, build_cosine_scale
from kmapp.search.signal_weights import SHIPPED_WEIGHTS
from kmapp.search.variants import AccountRanking
from memory.actions.rankings import MIN_QUESTIONS
from memory.actions.shadow_comparisons import select_storable
from memory.models import Ranking, RankingComparison
from memory.models.entries import owner_of
from memory.retrieval.candidates import collect_candidates
from memory.retrieval.learning.evaluation import DEPTH, compare, is_better, measure_ranking
from memory.retrieval.learning.fit import NAMES, Example, build_signal_rows, fit_weights
from memory.retrieval.learning.questions import LabelledQuestion, list_labels, list_questions
from memory.retrieval.search import SearchRequest, filter_entries

MIN_WEIGHT = 0.0005  # so that no variant is left without a signal
DECIMALS = 4
Origin = RankingComparison.Origin
Status = Ranking.Status


@dataclass(frozen=True, slots=True)
class _Case:
    """A labelled question with its candidates, in the order of the live ranking."""

    question: LabelledQuestion
    relevant: frozenset[str]
    ranked: RankedCandidates

    def example(self) -> Example:
        return Example(
            self.question.text,
            build_signal_rows(self.ranked.signals)[self.ranked.columns],
            np.array([each in self.relevant for each in self.ranked.ids]),
            len(self.relevant),
            np.array(self.ranked.scores),
        )


def run_learning(account_id: UUID, ranking_id: UUID) -> None:
    """Fill a ranking: a draft if it is better on held-out questions, or retired with the reason.

    Raises ProviderError if the embedder does not respond. Opens `acting` itself.
    """
    with acting(account_id):
        rows = Ranking.objects.of(account_id)
        ranking = rows.filter(pk=ranking_id, status=Status.LEARNING).first()
        active = rows.filter(status=Status.ACTIVE).first()
        questions = list_questions(account_id, list_labels(account_id)) if ranking else []
    if ranking is None:
        return None
    live = active.to_account_ranking() if active else AccountRanking(0, SHIPPED_WEIGHTS)
    cases = [
        case for each in questions if (case := _rank_candidates(account_id, each, live.weights))
    ]
    held_out = [case for case in cases if case.question.is_held_out]
    training = [case for case in cases if not case.question.is_held_out]
    evaluation: dict[str, Any] = {
        "questions": len(cases),
        "held_out": len(held_out),
        "compared_with": live.number,
    }
    examples = [case.example() for case in training]
    if len(cases) < MIN_QUESTIONS or not held_out or not any(each.right.any() for each in examples):
        return _store_evaluation(ranking, evaluation | {"outcome": "too_few_questions"})
    fitted = fit_weights(examples, prior=np.array(live.weights))
    learned = tuple(round(max(MIN_WEIGHT, float(weight)), DECIMALS) for weight in fitted)
    after = {id(case): rank_signals(case.ranked.signals, learned).ids for case in cases}
    measures = compare(
        [measure_ranking(case.ranked.ids, case.relevant) for case in held_out],
        [measure_ranking(after[id(case)], case.relevant) for case in held_out],
    )
    evaluation["measures"] = measures
    if not is_better(measures):
        return _store_evaluation(ranking, evaluation | {"outcome": "not_better"})
    ranking.weights = dict(zip(NAMES, learned, strict=True))
    comparisons = [_build_comparison(ranking, case, after[id(case)]) for case in cases]
    return _store_evaluation(ranking, evaluation | {"outcome": "better"}, comparisons)


def mark_failed(account_id: UUID, ranking_id: UUID) -> None:
    """Retire a ranking whose job failed permanently. Inside `acting`."""
    rows = Ranking.objects.of(account_id).filter(pk=ranking_id, status=Status.LEARNING)
    for ranking in rows:
        _store_evaluation(ranking, {"outcome": "failed"})


def _rank_candidates(
    account_id: UUID, question: LabelledQuestion, weights: tuple[float, ...]
) -> _Case | None:
    """Return a question with its candidates; None without any, or if the embedder fails for it.

    If it fails for each text, its circuit opens, which raises CircuitOpen.
    """
    relevant, model = frozenset(map(str, question.relevant)), active_model()
    embedder = OpenAIEmbedder.for_queries(model)
    try:
        query = get_query_vector(account_id, question.text, model=model, embedder=embedder)
    except (BadVectors, Faulted):
        return None
    meaning = QueryVector.from_floats(model, query.vector)
    with acting(account_id):
        within = AllowedObjects.from_queryset(
            filter_entries(account_id, SearchRequest(query="", viewer=question.viewer))
        )
        candidate_set = collect_candidates(account_id, question.text, meaning, within)
    scale = build_cosine_scale(model)
    ranked = rank_candidates(candidate_set.query, candidate_set.candidates, scale, learned=weights)
    return _Case(question, relevant, ranked) if ranked.ids else None


def _build_comparison(ranking: Ranking, case: _Case, after: Sequence[IdText]) -> RankingComparison:
    old, new = ([UUID(each) for each in ids[:DEPTH]] for ids in (case.ranked.ids, after))
    return RankingComparison(
        account_id=ranking.account_id,
        ranking=ranking,
        origin=Origin.HELD_OUT if case.question.is_held_out else Origin.LEARNED_ON,
        question=case.question.text,
        **owner_of(case.question.viewer),
        before=old,
        after=new,
        relevant=list(case.question.relevant),
        changed=len({*old} - {*new}),
        created_at=timezone.now(),
    )


def _store_evaluation(
    ranking: Ranking, evaluation: dict[str, Any], comparisons: Sequence[RankingComparison] = ()
) -> None:
    """Store the result, unless another run of the job did: people may use that one already."""
    account_id, weights = ranking.account_id, ranking.weights
    with acting(account_id):
        rows = Ranking.objects.of(account_id).filter(status=Status.LEARNING)
        locked = rows.select_for_update(no_key=True).filter(pk=ranking.pk).first()
        if locked is None:
            return
        with recording(account_id, SYSTEM) as commit:
            locked.status = Status.DRAFT if weights else Status.RETIRED
            locked.weights, locked.evaluation, locked.commit_id = weights, evaluation, commit.id
            locked.save(update_fields=["status", "weights", "evaluation", "commit"])
            commit.add(locked, "UPDATE")
            RankingComparison.objects.bulk_create(select_storable(account_id, comparisons))
