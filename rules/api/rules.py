"""Endpoints for writing, reading, changing and moving rules."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid
from rules.actions.rules import create, edit, get_rule
from rules.actions.states import Decision, Moved, move, rollback
from rules.api.request_serializers import (
    RuleChange,
    RuleInput,
    StateInput,
    Undoing,
    checked_audience,
    rule_from,
)
from rules.api.response_types import RulesAnswer, RuleShown, StateAnswer
from rules.api.serialize import rule_output, uri
from rules.editing.json_schemas import PUBLISHED
from rules.editing.rule_input import refuse
from rules.models import Rule

PAGE = 100


class RulesQuery(Typed):
    """Which rules to list."""

    state = serializers.ChoiceField(choices=Rule.State.choices, required=False)
    scope = serializers.CharField(max_length=200, required=False, allow_blank=True)
    limit = serializers.IntegerField(min_value=1, max_value=500, default=PAGE)
    after = serializers.UUIDField(required=False, help_text="`next` of the page before.")


class Rules(AgentView):
    """The rules of the account, newest first; and new ones, which start as drafts."""

    scopes = {"GET": Scope.RULES_READ, "POST": Scope.RULES_WRITE}
    idempotent = True

    @extend_schema(parameters=[RulesQuery], responses={200: RulesAnswer})
    def get(self, request: Request) -> Response:
        data = parse(RulesQuery, request)
        with acting(self.account):
            rows = Rule.objects.of(self.account)
            for name in ("state", "scope"):
                if name in data:
                    rows = rows.filter(**{name: data[name]})
            if "after" in data:
                rows = rows.filter(pk__lt=data["after"])
            page = list(rows.order_by("-pk")[: data["limit"] + 1])
        visible_rules = page[: data["limit"]]
        answer: RulesAnswer = {
            "rules": [rule_output(rule) for rule in visible_rules],
            "next": str(visible_rules[-1].pk) if len(page) > len(visible_rules) else None,
        }
        return Response(answer)

    @extend_schema(request=RuleInput, responses={201: RuleShown, 200: RuleShown})
    def post(self, request: Request) -> Response:
        data = parse(RuleInput, request)
        draft = rule_from(data)
        refuse(draft.issues())
        with acting(self.account):
            written = create(self.account, self.actor, draft, reason=data.get("reason", ""))
            visible_rules = rule_output(written.rules[0])
            return self.seal(Response(visible_rules, status=201 if written.fresh else 200))


class OneRule(AgentView):
    """One rule. What has watched or counts is not changed: a new edition of it is made (201)."""

    scopes = {
        "GET": Scope.RULES_READ,
        "PATCH": Scope.RULES_WRITE,
        "DELETE": Scope.RULES_WRITE,
    }

    @extend_schema(responses={200: RuleShown})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            return Response(rule_output(get_rule(self.account, pk)))

    @extend_schema(request=RuleChange, responses={200: RuleShown, 201: RuleShown})
    def patch(self, request: Request, pk: UUID) -> Response:
        data = parse(RuleChange, request)
        version, reason = data.pop("version", None), data.pop("reason", "")
        if not data:
            raise Invalid(
                "Send at least one field to change.",
                issues=[{"path": "name", "message": "nothing"}],
            )
        with acting(self.account):
            before = get_rule(self.account, pk)
            checked_audience(
                data.get("audience", before.audience),
                data.get("audience_id", before.audience_id),
            )
            rule = edit(self.account, self.actor, pk, data, version=version, reason=reason)
            return Response(rule_output(rule), status=200 if rule.pk == pk else 201)

    @extend_schema(request=Undoing, responses={200: RuleShown})
    def delete(self, request: Request, pk: UUID) -> Response:
        """Disable it. It stays on record."""
        decision = Decision(
            account_id=self.account, rule_id=pk, actor=self.actor, **parse(Undoing, request)
        )
        with acting(self.account):
            return Response(rule_output(move(decision, Rule.State.DISABLED).rule))


class Schemas(AgentView):
    """The JSON Schemas that rules are held to."""

    scopes = {"GET": Scope.RULES_READ}
    bucket = "recall"

    @extend_schema(responses={200: dict[str, Any]})
    def get(self, request: Request) -> Response:
        return Response(PUBLISHED)


class State(AgentView):
    """Bring a rule to a state: draft, shadow, active, disabled. No rule becomes active unwatched.

    `input_text` is the reason. A rule becomes active if its evidence passes the account's gate, or
    past it by a key with the scope rules:override.
    """

    scopes = {"POST": Scope.RULES_WRITE}
    idempotent = True

    @extend_schema(request=StateInput, responses={200: StateAnswer})
    def post(self, request: Request) -> Response:
        data = parse(StateInput, request)
        text = data.get("input_text") or ""
        digest = data.get("input_sha256") or ""
        decision = Decision(
            account_id=self.account,
            rule_id=data["rule_node_id"],
            actor=self.actor,
            version=data.get("version"),
            reason=text or (f"sha256:{digest}" if digest else ""),
            may_override=bool(text) and self.request.auth.may(Scope.RULES_OVERRIDE),
        )
        with acting(self.account):
            moved = move(decision, data["state"])
            return self.seal(Response(_state(moved)))


class Rollback(AgentView):
    """Take a promotion back: the rule watches again, and what it replaced counts again."""

    scopes = {"POST": Scope.RULES_WRITE}
    idempotent = True

    @extend_schema(request=Undoing, responses={200: StateAnswer})
    def post(self, request: Request, pk: UUID) -> Response:
        decision = Decision(
            account_id=self.account, rule_id=pk, actor=self.actor, **parse(Undoing, request)
        )
        with acting(self.account):
            return self.seal(Response(_state(rollback(decision))))


def _state(moved: Moved) -> StateAnswer:
    rule, commit = moved.rule, moved.commit
    return {
        "tenant_id": rule.account_id,
        "scope": rule.scope or "default",
        "rule_node_id": rule.pk,
        "state": rule.state,
        "version": rule.version,
        "commit_id": commit.pk,
        "commit_uri": uri(commit.pk, "commit", rule.account_id, rule.scope),
        "commit_hash": commit.commit_hash,
    }
