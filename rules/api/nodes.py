"""Rules among the nodes of a batch: they become drafts, in the commit of the batch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from kmapp.ledger.actions import Recording
from kmapp.nodes import HostedNode, Kind, keep
from rules.actions.writing import write_in
from rules.api.serializers import RuleNode, rule_of_node
from rules.drafts import NewRule, scope_of


def _read(node: Mapping[str, Any]) -> NewRule:
    serializer = RuleNode(data=node)
    serializer.is_valid(raise_exception=True)
    return rule_of_node(serializer.validated_data)


def _write(
    account: Account, scope: str, drafts: Sequence[NewRule], commit: Recording
) -> Sequence[HostedNode]:
    scoped = [replace(draft, scope=scope_of(draft.scope or scope)) for draft in drafts]
    written = write_in(account, scoped, commit)
    return [
        HostedNode(
            id=rule.pk,
            client_id=rule.client_id,
            kind="rule",
            status=rule.state,
            written_in=rule.written_in,
            fresh=rule.pk in written.fresh,
        )
        for rule in written.rules
    ]


keep(Kind(name="rule", scope=Scope.RULES_WRITE, read=_read, write=_write))
