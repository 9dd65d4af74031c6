"""API of rules: create, read, change, and change the state."""

from typing import Any
from uuid import UUID

from django.db.models import Q, Subquery
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.object_uris import object_uri
from kmapp.api.serializers import Typed
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid
from kmapp.ledger.read_verification import withhold_mismatches
from rules.actions.record_versions import get_rule, get_sealed_rule
from rules.actions.rules import create_rule, update_rule
from rules.actions.state_changes import StateChange, StateChangeResult, change_state, roll_back_rule
from rules.api.request_serializers import (
    RuleChange,
    RuleInput,
    StateInput,
    Undoing,
    build_rule,
    check_audience,
)
from rules.api.response_types import RulesAnswer, RuleShown, StateAnswer
from rules.api.serialize_evaluations import serialize_rule
from rules.editing.json_schemas import SCHEMAS
from rules.editing.rule_input import MAX_SECONDS, parse_scope, validate_rule
from rules.evaluation.time_limit import limit_time
from rules.models import Rule


class RulesQuery(Typed):
    """A filter and a page of rules."""

    state = serializers.ChoiceField(choices=Rule.State.choices, required=False)
    scope = serializers.CharField(max_length=200, required=False, allow_blank=True)
    limit = serializers.IntegerField(min_value=1, max_value=500, default=100)
    after = serializers.UUIDField(required=False, help_text="The `next` of the previous page.")


class Rules(AgentView):
    """List the rules of the account, newest first, or create a rule as a draft."""

    scopes = {"GET": Scope.RULES_READ, "POST": Scope.RULES_WRITE}

    @extend_schema(parameters=[RulesQuery], responses={200: RulesAnswer})
    def get(self, request: Request) -> Response:
        data = parse(RulesQuery, request)
        with acting(self.account):
            rows = Rule.objects.of(self.account)
            if "state" in data:
                rows = rows.filter(state=data["state"])
            if "scope" in data:
                rows = rows.filter(scope=parse_scope(data["scope"]))
            if "after" in data:
                rows = rows.filter(_is_older(self.account, data["after"]))
            rows = rows.order_by("-created_at", "-pk").with_verify_on_read(self.account)
            page = list(rows[: data["limit"] + 1])
            rules = page[: data["limit"]]
            sealed = withhold_mismatches(self.account, rules)
        with limit_time(MAX_SECONDS):  # to check all rules
            serialized = [serialize_rule(rule) for rule in sealed]
        answer: RulesAnswer = {
            "rules": serialized,
            "next": str(rules[-1].pk) if len(page) > len(rules) else None,
        }
        return Response(answer)

    @extend_schema(request=RuleInput, responses={201: RuleShown, 200: RuleShown})
    def post(self, request: Request) -> Response:
        data = parse(RuleInput, request)
        draft = build_rule(data)
        validate_rule(draft)
        with acting(self.account):
            written = create_rule(self.account, self.actor, draft, reason=data.get("reason", ""))
            body = serialize_rule(written.rules[0])
            return self.seal(Response(body, status=201 if written.created_ids else 200))


def _is_older(account_id: UUID, pk: UUID) -> Q:
    created_at = Subquery(Rule.objects.of(account_id).filter(pk=pk).values("created_at"))
    return Q(created_at__lt=created_at) | Q(created_at=created_at, pk__lt=pk)


class OneRule(AgentView):
    """Return, change or disable a rule.

    Changing a rule that was in shadow or active creates a new edition as a draft (201).
    """

    scopes = {"GET": Scope.RULES_READ, "PATCH": Scope.RULES_WRITE, "DELETE": Scope.RULES_WRITE}

    @extend_schema(responses={200: RuleShown})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            return Response(serialize_rule(get_sealed_rule(self.account, pk)))

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
            check_audience(
                data.get("audience", before.audience), data.get("audience_id", before.audience_id)
            )
            rule = update_rule(self.account, self.actor, pk, data, version=version, reason=reason)
            return Response(serialize_rule(rule), status=200 if rule.pk == pk else 201)

    @extend_schema(request=Undoing, responses={200: RuleShown})
    def delete(self, request: Request, pk: UUID) -> Response:
        """Disable the rule. It remains in the history."""
        decision = _parse_decision(self, request, pk)
        with acting(self.account):
            return Response(serialize_rule(change_state(decision, Rule.State.DISABLED).rule))


def _parse_decision(view: AgentView, request: Request, pk: UUID) -> StateChange:
    data = parse(Undoing, request)
    return StateChange(
        account_id=view.account,
        rule_id=pk,
        actor=view.actor,
        may_change_active=view.request.auth.may(Scope.RULES_OVERRIDE),
        **data,
    )


class Schemas(AgentView):
    """Return the JSON Schemas that rules must match."""

    scopes = {"GET": Scope.RULES_READ}

    @extend_schema(responses={200: dict[str, Any]})
    def get(self, request: Request) -> Response:
        return Response(SCHEMAS)


class State(AgentView):
    """Change the state of a rule: draft, shadow, active or disabled.

    `input_text` is the reason. A rule must be in shadow before it becomes active, and its evidence
    must pass the account's gate, unless a key with the scope rules:override sends a reason.
    Without this scope, a key can neither activate a rule nor change the state of an active one.
    """

    scopes = {"POST": Scope.RULES_WRITE}

    @extend_schema(request=StateInput, responses={200: StateAnswer})
    def post(self, request: Request) -> Response:
        data = parse(StateInput, request)
        text = data.get("input_text") or ""
        digest = data.get("input_sha256") or ""
        may_override = self.request.auth.may(Scope.RULES_OVERRIDE)
        decision = StateChange(
            account_id=self.account,
            rule_id=data["rule_node_id"],
            actor=self.actor,
            version=data.get("version"),
            reason=text or (f"sha256:{digest}" if digest else ""),
            may_override=bool(text) and may_override,
            may_change_active=may_override,
        )
        with acting(self.account):
            result = change_state(decision, data["state"])
            return self.seal(Response(_serialize_state(result)))


class Rollback(AgentView):
    """Revert a promotion: the rule returns to shadow, and the rule it replaced is active again."""

    scopes = {"POST": Scope.RULES_WRITE}

    @extend_schema(request=Undoing, responses={200: StateAnswer})
    def post(self, request: Request, pk: UUID) -> Response:
        decision = _parse_decision(self, request, pk)
        with acting(self.account):
            return self.seal(Response(_serialize_state(roll_back_rule(decision))))


def _serialize_state(result: StateChangeResult) -> StateAnswer:
    rule, commit = result.rule, result.commit
    return serialize_as(
        StateAnswer,
        rule,
        tenant_id=rule.account_id,
        scope=rule.scope or "default",
        rule_node_id=rule.pk,
        commit_id=commit.pk,
        commit_uri=object_uri(commit.pk, "commit", rule.account_id, rule.scope),
        commit_hash=commit.commit_hash,
    )
