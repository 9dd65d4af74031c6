"""API of lorebooks: evaluation over a conversation."""

from typing import TypedDict
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.response_types import serialize_as
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse
from knowledge.lore.evaluate import entries_of, fire
from knowledge.lore.triggers import Fired, Rules
from knowledge.models import LorebookEntry

MESSAGE = 50_000
TURNS = 1_000_000


class LoreInput(Typed):
    """A conversation, oldest message first, and the `state` of the previous response."""

    messages = serializers.ListField(
        child=serializers.CharField(max_length=MESSAGE, allow_blank=True, trim_whitespace=False),
        max_length=500,
    )
    lorebooks = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=50, required=False, default=list
    )
    scope = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    budget = serializers.IntegerField(min_value=0, max_value=200_000, default=1_000)
    scan_depth = serializers.IntegerField(min_value=0, max_value=500, default=4)
    max_recursion = serializers.IntegerField(min_value=0, max_value=10, default=3)
    state = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=TURNS), required=False, default=dict
    )


class LoreFired(TypedDict):
    """An entry that fired, the reason, and why it was trimmed, if it was."""

    id: UUID
    name: str
    lorebook: str
    reason: str
    match: str | None
    by: UUID | None
    round: int
    tokens: int
    trimmed: str | None


class LoreSilent(TypedDict):
    """An entry with matching keys that did not fire, and the reason."""

    id: UUID
    name: str
    reason: str


class LoreCitation(TypedDict):
    """The lorebook entry of a text."""

    kind: str
    ref: UUID
    title: str
    commit_id: UUID


class LoreSnippet(TypedDict):
    """A text for the prompt."""

    text: str
    score: float
    tags: list[str]
    trust: str
    citations: list[LoreCitation]


class LoreReport(TypedDict):
    """The entries that fired or were held back, and their tokens within the budget."""

    fired: list[LoreFired]
    silent: list[LoreSilent]
    tokens: int
    budget: int


class LoreAnswer(TypedDict):
    """Texts in prompt order, the report, and the `state` for the next request."""

    results: list[LoreSnippet]
    build_report: LoreReport
    state: dict[str, int]


class EvaluateLore(AgentView):
    """Return the lorebook entries that a conversation triggers, within a token budget.

    Nothing is stored: send the `state` of the previous response, which sticky entries and
    cooldowns depend on.
    """

    scopes = {"POST": Scope.KNOWLEDGE_READ}
    bucket = "recall"

    @extend_schema(request=LoreInput, responses={200: LoreAnswer})
    def post(self, request: Request) -> Response:
        data = parse(LoreInput, request)
        limits = ("budget", "scan_depth", "max_recursion", "scope")
        rules = Rules(**{name: data[name] for name in limits})
        with acting(self.account):
            rows = entries_of(self.account, data["lorebooks"])
        outcome = fire(rows, data["messages"], rules, data["state"])
        by_id = {str(row.pk): row for row in rows}
        answer: LoreAnswer = {
            "results": [_serialize_snippet(by_id[each.entry.id]) for each in outcome.included],
            "build_report": {
                "fired": [_serialize_fired(by_id[each.entry.id], each) for each in outcome.fired],
                "silent": [
                    serialize_as(LoreSilent, by_id[each.entry.id], reason=each.reason)
                    for each in outcome.silent
                ],
                "tokens": outcome.tokens,
                "budget": rules.budget,
            },
            "state": {pk: turn for pk, turn in outcome.state.items() if pk in by_id},
        }
        return Response(answer)


def _serialize_snippet(row: LorebookEntry) -> LoreSnippet:
    return {
        "text": row.content,
        "score": 1.0,
        "tags": ["knowledge", "lorebook"],
        "trust": row.source.trust,
        "citations": [
            {"kind": "lorebook_entry", "ref": row.pk, "title": row.name, "commit_id": row.commit_id}
        ],
    }


def _serialize_fired(row: LorebookEntry, fired: Fired) -> LoreFired:
    by = UUID(fired.by) if fired.by else None
    return serialize_as(LoreFired, fired, id=row.pk, name=row.name, lorebook=row.source.name, by=by)
