"""Rules and their states."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self
from uuid import UUID

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.db.models.fields.json import KT
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountQuerySet, SameAccountKey, SealedModel
from kmapp.ledger.models import State

MIN_PRIORITY, MAX_PRIORITY = -100, 100
MAX_WEIGHT = 2.0


class RuleQuerySet(AccountQuerySet["Rule"]):
    def evaluated(self) -> Self:
        """Return active and shadow rules."""
        return self.filter(state__in=EVALUATED_STATES)

    def evaluated_when_sealed(self, account_id: UUID) -> Self:
        """Return active and shadow rules, and those whose last version was active or in shadow.

        The state of the latter was changed in the database, so they differ from their seal.
        """
        versions = RuleVersion.objects.of(account_id).filter(rule_id=OuterRef("pk"))
        last_state = versions.order_by("-version").values(last_state=KT("state__state"))[:1]
        return self.alias(last_state=Subquery(last_state)).filter(
            Q(state__in=EVALUATED_STATES) | Q(last_state__in=EVALUATED_STATES)
        )


class Rule(SealedModel):
    """One edition of a rule, whose definition is fixed once it has been in shadow.

    Editions of one rule share a lineage, of which at most one is active. `version` counts the
    changes of this row.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        SHADOW = "shadow", _("Shadow")
        ACTIVE = "active", _("Active")
        DISABLED = "disabled", _("Disabled")

        def may_become(self, to: str) -> bool:
            return to in _TRANSITIONS[self.value]

    class Audience(models.TextChoices):
        ACCOUNT = "account", _("everyone")
        APP = "app", _("specific app")
        AGENT = "agent", _("specific agent")
        USER = "user", _("specific user")

    scope = models.CharField(_("scope"), max_length=200, blank=True)
    client_id = models.CharField(_("client id"), max_length=200, null=True, blank=True)  # noqa: DJ001
    written_in = models.UUIDField(_("written in"), editable=False)
    written_sha256 = models.CharField(max_length=64, blank=True, editable=False)
    lineage = models.UUIDField(_("lineage"), editable=False)
    edition = models.PositiveIntegerField(_("edition"), default=1)
    name = models.CharField(_("name"), max_length=200)
    summary = models.TextField(_("summary"), blank=True)
    when = models.JSONField(_("if"), default=dict, blank=True)
    then = models.JSONField(_("then"), default=dict, blank=True)
    exceptions = models.JSONField(_("exceptions"), default=list, blank=True)
    priority = models.SmallIntegerField(
        _("priority"),
        default=0,
        validators=[MinValueValidator(MIN_PRIORITY), MaxValueValidator(MAX_PRIORITY)],
    )
    weight = models.FloatField(
        _("weight"),
        default=1.0,
        validators=[MinValueValidator(0), MaxValueValidator(MAX_WEIGHT)],
    )
    audience = models.CharField(
        _("audience"), max_length=7, choices=Audience.choices, default=Audience.ACCOUNT
    )
    audience_id = models.CharField(_("audience id"), max_length=200, blank=True)
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.DRAFT)
    version = models.PositiveIntegerField(_("version"), default=1)
    shadowed_at = models.DateTimeField(_("in shadow since"), null=True, blank=True)
    activated_at = models.DateTimeField(_("active since"), null=True, blank=True)
    # The edition that it replaced, which a rollback restores.
    replaced = models.UUIDField(_("replaced edition"), null=True, blank=True, editable=False)
    created_by = models.CharField(_("written by"), max_length=50)
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))

    objects: ClassVar = RuleQuerySet.as_manager()

    class Meta:
        verbose_name = _("rule")
        verbose_name_plural = _("rules")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="rule_in_account"),
            models.UniqueConstraint(
                fields=["account", "scope", "client_id"], name="one_rule_per_client_id"
            ),
            models.UniqueConstraint(
                fields=["account", "lineage", "edition"], name="one_rule_per_edition"
            ),
            models.UniqueConstraint(
                fields=["account", "lineage"],
                condition=Q(state="active"),
                name="one_active_edition",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["active", "shadow"]) | Q(shadowed_at__isnull=False),
                name="active_rule_was_shadowed",
            ),
            models.CheckConstraint(
                condition=Q(priority__gte=MIN_PRIORITY, priority__lte=MAX_PRIORITY),
                name="priority_within_100",
            ),
            models.CheckConstraint(
                condition=Q(weight__gte=0, weight__lte=MAX_WEIGHT), name="weight_between_0_and_2"
            ),
            models.CheckConstraint(
                condition=Q(audience="account", audience_id="")
                | (~Q(audience="account") & ~Q(audience_id="")),
                name="audience_is_named",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "state", "-updated_at"], name="rules_by_state"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def frozen(self) -> bool:
        """Return whether a change of its definition creates a new edition."""
        return self.state != self.State.DRAFT or self.shadowed_at is not None

    def definition(self) -> dict[str, Any]:
        return {
            "if": self.when,
            "then": self.then,
            "exceptions": self.exceptions,
            "priority": self.priority,
            "weight": self.weight,
            "scope": self.scope,
            "audience": self.audience,
            "audience_id": self.audience_id,
        }


EVALUATED_STATES = (Rule.State.ACTIVE.value, Rule.State.SHADOW.value)
_TRANSITIONS: Mapping[str, frozenset[str]] = {
    "draft": frozenset({"shadow", "disabled"}),
    "shadow": frozenset({"active", "draft", "disabled"}),
    "active": frozenset({"shadow", "disabled"}),
    "disabled": frozenset({"draft", "shadow"}),
}


class RuleVersion(State):
    """A version of a rule, as its commit sealed it."""

    class Event(models.TextChoices):
        ADD = "ADD", _("added")
        UPDATE = "UPDATE", _("changed")
        SHADOW = "SHADOW", _("moved to shadow")
        PROMOTE = "PROMOTE", _("promoted")
        DEMOTE = "DEMOTE", _("moved back to shadow")
        WITHDRAW = "WITHDRAW", _("moved to draft")
        DISABLE = "DISABLE", _("disabled")
        REPLACE = "REPLACE", _("replaced by a newer edition")
        ROLLBACK = "ROLLBACK", _("rolled back")
        RESTORE = "RESTORE", _("restored by a rollback")

    rule = SameAccountKey(Rule, related_name="versions", verbose_name=_("rule"))
    event = models.CharField(_("event"), max_length=10, choices=Event.choices)

    class Meta:
        verbose_name = _("rule version")
        verbose_name_plural = _("rule versions")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "rule", "version"], name="one_state_per_rule_version"
            )
        ]
        indexes = [models.Index(fields=["account", "-created_at"], name="rule_versions_newest")]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.version} {self.event}"
