"""A model of the rules of one account."""

from dataclasses import dataclass, field
from uuid import UUID, uuid4

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from rules.actions.state_changes import StateChange
from tests import makers
from tests.agent import Agent


@dataclass(slots=True)
class Edition:
    """An edition of a rule, which denies one tool."""

    id: str
    tool: str
    lineage: str
    client_id: str = ""
    written: str = ""  # the tool that was written with the client id
    edition: int = 1
    state: str = "draft"
    version: int = 1
    was_in_shadow: bool = False
    replaced: str | None = None
    # Runs with an outcome, which count once.
    outcomes: set[tuple[str, str]] = field(default_factory=set)

    def go(self, state: str, replaced: str | None = None) -> None:
        self.version += 1
        self.was_in_shadow |= state == "shadow"
        self.state, self.replaced = state, replaced


@dataclass
class ModelledAccount:
    account: Account
    agent: Agent
    rules: dict[str, Edition] = field(default_factory=dict)
    # By rule: the pending request for its promotion, and what was requested.
    requests: dict[str, tuple[UUID, object]] = field(default_factory=dict)

    @classmethod
    def create(cls) -> "ModelledAccount":
        account = makers.account(f"Acme {uuid4().hex[:8]}")
        return cls(account, makers.agent(account))

    def editions(self, one: Edition) -> list[Edition]:
        return [each for each in self.rules.values() if each.lineage == one.lineage]

    def active_edition(self, one: Edition) -> Edition | None:
        return next((each for each in self.editions(one) if each.state == "active"), None)

    def reviewed_content(self, one: Edition) -> object:
        """Return what a second person approves: the rule and its active edition."""
        active = self.active_edition(one)
        return one.version, active and (active.id, active.version)

    def promote(self, one: Edition) -> None:
        """Activate a rule instead of its active edition."""
        active = self.active_edition(one)
        if active:
            active.go("disabled", active.replaced)
        one.go("active", active.id if active else None)

    def change(self, one: Edition, person: Actor) -> StateChange:
        return StateChange(
            account_id=self.account.pk,
            rule_id=UUID(one.id),
            actor=person,
            reason="Tried.",
            may_override=True,
        )

    def denied(self, state: str) -> set[str]:
        return {each.tool for each in self.rules.values() if each.state == state}
