"""API of lorebooks: the entries that a conversation triggers."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.api.views import AgentView, parse
from knowledge.api.request_serializers import LoreInput
from knowledge.api.response_types import LoreAnswer, LoreFired, LoreSilent, LoreSnippet
from knowledge.lore.account_lorebooks import evaluate_entries, load_entries
from knowledge.lore.lorebook_evaluation import TriggeredEntry, TriggerSettings
from knowledge.models import LorebookEntry


class EvaluateLore(AgentView):
    """Return the lorebook entries that a conversation triggers, within a token budget.

    Nothing is stored: send the `state` of the previous response, which sticky entries and
    cooldowns depend on.
    """

    scopes = {"POST": Scope.KNOWLEDGE_READ}

    @extend_schema(request=LoreInput, responses={200: LoreAnswer})
    def post(self, request: Request) -> Response:
        data = parse(LoreInput, request)
        limits = ("budget", "scan_depth", "max_recursion", "scope")
        rules = TriggerSettings(**{name: data[name] for name in limits})
        with acting(self.account):
            rows = load_entries(self.account, data["lorebooks"])
        outcome = evaluate_entries(rows, data["messages"], rules, data["state"])
        by_id = {str(row.pk): row for row in rows}
        answer: LoreAnswer = {
            "results": [
                _serialize_matching_entry(by_id[each.entry.id]) for each in outcome.included
            ],
            "build_report": {
                "fired": [
                    _serialize_fired(by_id[each.entry.id], each) for each in outcome.triggered
                ],
                "silent": [
                    serialize_as(LoreSilent, by_id[each.entry.id], reason=each.reason)
                    for each in outcome.suppressed
                ],
                "tokens": outcome.tokens,
                "budget": rules.budget,
            },
            "state": {pk: turn for pk, turn in outcome.state.items() if pk in by_id},
        }
        return Response(answer)


def _serialize_matching_entry(row: LorebookEntry) -> LoreSnippet:
    return {
        "text": row.content,
        "score": 1.0,
        "tags": ["knowledge", "lorebook"],
        "trust": row.source.trust,
        "citations": [
            {"kind": "lorebook_entry", "ref": row.pk, "title": row.name, "commit_id": row.commit_id}
        ],
    }


def _serialize_fired(row: LorebookEntry, fired: TriggeredEntry) -> LoreFired:
    by = UUID(fired.by) if fired.by else None
    return serialize_as(LoreFired, fired, id=row.pk, name=row.name, lorebook=row.source.name, by=by)
