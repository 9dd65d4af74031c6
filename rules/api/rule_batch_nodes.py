"""Rules in a memory batch, which become drafts in the commit of the batch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from kmapp.api.batch_node_registry import HostedNode, NodeFeedbackResult, NodeKind, register_kind
from kmapp.ledger.actions import Recording
from rules.actions.feedback import rate_rule
from rules.actions.rules import write_rules
from rules.api.request_serializers import NamedRuleVerdict, RuleNode, build_node_rule, build_verdict
from rules.api.serialize_decisions import serialize_feedback_result
from rules.editing.rule_input import NewRule, parse_scope


def _parse_node(node: Mapping[str, Any]) -> NewRule:
    serializer = RuleNode(data=node)
    serializer.is_valid(raise_exception=True)
    return build_node_rule(serializer.validated_data)


def _write_nodes(
    account: Account, scope: str, drafts: Sequence[NewRule], commit: Recording
) -> Sequence[HostedNode]:
    scoped = [replace(draft, scope=parse_scope(draft.scope or scope)) for draft in drafts]
    written = write_rules(account, scoped, commit)
    return [
        HostedNode(
            id=rule.pk,
            client_id=rule.client_id,
            kind="rule",
            status=rule.state,
            written_in=rule.written_in,
            is_new=rule.pk in written.created_ids,
        )
        for rule in written.rules
    ]


def _rate_rule(account_id: UUID, actor: Actor, rating: Any) -> NodeFeedbackResult:
    """Record feedback on a rule, as the Aionis client sends it in a batch."""
    serializer = NamedRuleVerdict(data=rating)
    serializer.is_valid(raise_exception=True)
    data = serializer.validated_data
    result = rate_rule(build_verdict(account_id, actor, data), data["rule_node_id"])
    return NodeFeedbackResult(
        response=serialize_feedback_result(result, parse_scope(data.get("scope"))),
        is_new=result.fresh,
    )


register_kind(
    NodeKind(
        name="rule",
        scope=Scope.RULES_WRITE,
        serializer=RuleNode,
        read=_parse_node,
        write=_write_nodes,
        id_field="rule_node_id",
        rate=_rate_rule,
    )
)
