"""API of learned rankings: judgements, proposals, their evidence and status."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.typed_dict_schemas import ParsedAnswer, serialize_as
from kmapp.api.views import AgentView, parse
from kmapp.errors import NotFound
from memory.actions.judgements import (
    LABELS,
    MAX_QUESTION_LENGTH,
    RELEVANT,
    NewJudgement,
    store_judgements,
)
from memory.actions.rankings import change_status, get_ranking, start_learning
from memory.api.access import filter_readable
from memory.api.shared_request_serializers import OwnerIds, build_viewer
from memory.models import Judgement, Ranking, RankingComparison

MAX_JUDGEMENTS = 100


class JudgementInput(OwnerIds):
    """Whether a memory is relevant to a question of this owner; null withdraws the judgement."""

    aliases = {**OwnerIds.aliases, "query": "question", "id": "memory_id"}

    question = serializers.CharField(max_length=MAX_QUESTION_LENGTH)
    memory_id = serializers.UUIDField()
    relevant = serializers.BooleanField(allow_null=True)


class JudgementsInput(Typed):
    """Judgements. Another one of the same memory and question replaces the first."""

    judgements = serializers.ListField(
        child=JudgementInput(), min_length=1, max_length=MAX_JUDGEMENTS
    )


class PagesInput(Typed):
    """A page of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=500, default=100)
    offset = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)


class ComparisonsInput(PagesInput):
    """Questions that weights were evaluated on or learned from, or that agents asked."""

    origin = serializers.ChoiceField(choices=RankingComparison.Origin.choices, default="held_out")


class StatusInput(Typed):
    """The new status. Retiring the active ranking restores the one that it replaced."""

    status = serializers.ChoiceField(choices=Ranking.Status.choices)
    reason = serializers.CharField(max_length=500, required=False, allow_blank=True)


class StoredJudgement(TypedDict):
    """A judgement."""

    question: str
    user_id: str | None
    agent_id: str | None
    app_id: str | None
    run_id: str | None
    scope: str | None
    memory_id: UUID
    relevant: bool | None
    source: str
    judged_by: str
    created_at: datetime


class JudgementsAnswer(ParsedAnswer):
    """Judgements, newest first; `next` is an offset."""

    results: list[StoredJudgement]
    next: int | None


class JudgedAnswer(ParsedAnswer):
    """The number of judgements that were new or different."""

    changed: int


class RankingAnswer(ParsedAnswer):
    """Learned search weights with their results on held-out questions."""

    id: UUID
    number: int
    status: str
    weights: dict[str, float]
    evaluation: dict[str, Any]
    created_by: str
    created_at: datetime
    shadowed_at: datetime | None
    activated_at: datetime | None


class RankingsAnswer(TypedDict):
    """The rankings of the account, newest first."""

    results: list[RankingAnswer]


class ComparisonAnswer(TypedDict):
    """The first ten results of a question without the ranking and with it."""

    question: str
    before: list[UUID]
    after: list[UUID]
    relevant: list[UUID]
    changed: int


class ComparisonsAnswer(ParsedAnswer):
    """Comparisons, the largest change first; `next` is an offset."""

    results: list[ComparisonAnswer]
    next: int | None


class Judgements(AgentView):
    """Judge which memories are relevant to which questions, or export all judgements."""

    scopes = {"GET": Scope.ADMIN, "POST": Scope.MEMORY_WRITE}

    @extend_schema(parameters=[PagesInput], responses={200: JudgementsAnswer})
    def get(self, request: Request) -> Response:
        params = parse(PagesInput, request)
        with acting(self.account):
            rows = Judgement.objects.of(self.account).order_by("-created_at", "-pk")
            return Response(_load_page(rows, params, _serialize_judgement))

    @extend_schema(request=JudgementsInput, responses={200: JudgedAnswer})
    def post(self, request: Request) -> Response:
        judgements = parse(JudgementsInput, request)["judgements"]
        with acting(self.account):
            self._refuse_unreadable(judgements)
            new = [
                NewJudgement(
                    question=each["question"],
                    entry_id=each["memory_id"],
                    label=LABELS[each["relevant"]],
                    viewer=build_viewer(each),
                )
                for each in judgements
            ]
            changed = store_judgements(self.account, self.actor, new, Judgement.Source.IMPORT)
            return self.seal(Response({"changed": len(changed)}))

    def _refuse_unreadable(self, judgements: Sequence[Mapping[str, Any]]) -> None:
        """Raise the same error for unknown memories and for those that the owner cannot see."""
        ids_by_viewer = defaultdict[Any, set[UUID]](set)
        for each in judgements:
            ids_by_viewer[build_viewer(each)].add(each["memory_id"])
        for viewer, ids in ids_by_viewer.items():
            rows = filter_readable(self.request.auth, {}).visible_to(viewer)
            if rows.filter(pk__in=ids).count() < len(ids):
                raise NotFound(_("Memory not found."))


class Rankings(AgentView):
    """List the learned rankings, or learn another one from all judgements. Runs in a worker."""

    scopes = {"GET": Scope.ADMIN, "POST": Scope.ADMIN}

    @extend_schema(responses={200: RankingsAnswer})
    def get(self, request: Request) -> Response:
        with acting(self.account):
            rows = list(Ranking.objects.of(self.account).order_by("-number")[:100])
        return Response({"results": [serialize_as(RankingAnswer, row) for row in rows]})

    @extend_schema(request=None, responses={202: RankingAnswer})
    def post(self, request: Request) -> Response:
        with acting(self.account):
            ranking = start_learning(self.account, self.actor)
            return self.seal(Response(serialize_as(RankingAnswer, ranking), status=202))


class OneRanking(AgentView):
    """Return a ranking, or change its status: shadow, active, retired."""

    scopes = {"GET": Scope.ADMIN, "PATCH": Scope.ADMIN}

    @extend_schema(responses={200: RankingAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            return Response(serialize_as(RankingAnswer, get_ranking(self.account, pk)))

    @extend_schema(request=StatusInput, responses={200: RankingAnswer})
    def patch(self, request: Request, pk: UUID) -> Response:
        params = parse(StatusInput, request)
        with acting(self.account):
            ranking = change_status(
                self.account, pk, self.actor, params["status"], params.get("reason", "")
            )
            return Response(serialize_as(RankingAnswer, ranking))


class RankingComparisons(AgentView):
    """List what a ranking changes, question by question."""

    scopes = {"GET": Scope.ADMIN}

    @extend_schema(parameters=[ComparisonsInput], responses={200: ComparisonsAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        params = parse(ComparisonsInput, request)
        with acting(self.account):
            ranking = get_ranking(self.account, pk)
            rows = ranking.comparisons.filter(origin=params["origin"]).order_by("-changed", "-pk")
            return Response(_load_page(rows, params, partial(serialize_as, ComparisonAnswer)))


def _serialize_judgement(row: Judgement) -> StoredJudgement:
    return serialize_as(StoredJudgement, row, memory_id=row.entry_id, relevant=RELEVANT[row.label])


def _load_page(
    rows: Any, params: Mapping[str, int], serialize: Callable[[Any], Any]
) -> dict[str, Any]:
    end = params["offset"] + params["limit"]
    page = list(rows[params["offset"] : end + 1])
    results = [serialize(row) for row in page[: params["limit"]]]
    return {"results": results, "next": end if len(page) > len(results) else None}
