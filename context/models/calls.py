"""Reports of model calls, and for some days the inputs of the calls.

A report is permanent. Inputs expire; their parts are stored once per account, so that the calls of
a conversation share its messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from context.models.archives import NewestFirstQuerySet
from kmapp.accounts.models import AccountOwned, SameAccountKey
from kmapp.search.id_array_lookup import IdArray


class ReportQuerySet(NewestFirstQuerySet["ContextCostReport"]):
    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-pk")

    def ids(self) -> models.QuerySet[ContextCostReport, UUID]:
        """Return the ids alone, from the index; see `load_page`."""
        return self.values_list("pk", flat=True)

    def load_page(self, ids: Iterable[UUID]) -> Self:
        return self.filter(pk__in=list(ids)).briefly().newest_first()

    def briefly(self) -> Self:
        """Defer the large columns that lists do not show."""
        return self.defer("report", "tool_tokens", "called_tools")

    def citing(self, ids: Sequence[UUID]) -> Self:
        """Return the calls that cite one of these objects."""
        refs: dict[str, Any] = {"ref": ids[0]} if len(ids) == 1 else {"ref__any_of": IdArray(ids)}
        citations = ContextCitation.objects.filter(account_id=OuterRef("account_id"), **refs)
        return self.filter(Exists(citations.filter(report_id=OuterRef("pk"))))


class ContextCostReport(AccountOwned):
    """One call: columns for filters and sums, and the full report as JSON."""

    conversation_id = models.CharField(_("conversation"), max_length=200, blank=True)
    thread_id = models.CharField(_("thread"), max_length=200, blank=True)
    user_id = models.CharField(_("user"), max_length=200, blank=True)
    agent_id = models.CharField(_("agent"), max_length=200, blank=True)
    app_id = models.CharField(_("app"), max_length=200, blank=True)
    model = models.CharField(_("model"), max_length=100, blank=True)
    variant = models.CharField(_("variant"), max_length=50, blank=True)
    window = models.PositiveIntegerField(_("context window"))
    reserve = models.PositiveIntegerField(_("reserved for output"))
    total = models.PositiveIntegerField(_("tokens"))
    system = models.PositiveIntegerField(_("system"))
    tools_schema = models.PositiveIntegerField(_("tools"))
    history = models.PositiveIntegerField(_("history"))
    tool_results = models.PositiveIntegerField(_("tool results"))
    injections = models.PositiveIntegerField(_("added by caller and rules"))
    memory_knowledge = models.PositiveIntegerField(_("memory and knowledge"))
    prefix_sha256 = models.CharField(_("digest of the stable prefix"), max_length=64)
    actions = ArrayField(
        models.CharField(max_length=50), verbose_name=_("decisions"), default=list, blank=True
    )
    # Offered tools and called tools as columns: costs add them up over thousands of calls, whose
    # reports are too large to be read for it.
    tool_tokens = models.JSONField(_("tokens by tool"), default=dict, blank=True)
    called_tools = ArrayField(
        models.TextField(), verbose_name=_("tools called"), default=list, blank=True
    )
    report = models.JSONField(_("report"))
    created_by = models.CharField(_("requested by"), max_length=50)
    created_at = models.DateTimeField(_("requested"))
    # The outcome, reported by the caller afterwards.
    success = models.BooleanField(_("succeeded"), null=True, blank=True)
    input_tokens = models.PositiveIntegerField(_("input tokens (provider)"), null=True)
    output_tokens = models.PositiveIntegerField(_("output tokens (provider)"), null=True)
    cached_tokens = models.PositiveIntegerField(_("cached tokens (provider)"), null=True)
    latency_ms = models.PositiveIntegerField(_("latency in ms"), null=True)
    cost = models.DecimalField(_("cost"), max_digits=16, decimal_places=8, null=True)
    outcome_at = models.DateTimeField(_("outcome reported"), null=True)

    objects: ClassVar = ReportQuerySet.as_manager()

    class Meta:
        verbose_name = _("model call")
        verbose_name_plural = _("model calls")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="report_in_account"),
            models.CheckConstraint(
                name="report_adds_up",
                condition=Q(
                    total=models.F("system")
                    + models.F("tools_schema")
                    + models.F("history")
                    + models.F("tool_results")
                    + models.F("injections")
                    + models.F("memory_knowledge")
                ),
            ),
        ]
        indexes = [
            # Includes the decisions, so that rare ones are found without reading every call.
            models.Index(
                fields=["account", "-created_at", "-id"],
                include=["actions"],
                name="reports_and_decisions",
            ),
            models.Index(
                fields=["account", "conversation_id", "-created_at"], name="reports_of_conversation"
            ),
            models.Index(fields=["account", "agent_id", "-created_at"], name="reports_of_agent"),
            models.Index(fields=["account", "model", "-created_at"], name="reports_of_model"),
            models.Index(fields=["account", "variant", "-created_at"], name="reports_of_variant"),
            models.Index(
                fields=["account", "cost"], condition=Q(cost__isnull=False), name="reports_by_cost"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id or self.agent_id or self.pk} · {self.total}"


class ContextCitation(AccountOwned):
    """A citation of an object in a call, to list the uses of the object."""

    report = SameAccountKey(ContextCostReport, related_name="cited", verbose_name=_("call"))
    ref = models.UUIDField(_("cited object"))
    created_at = models.DateTimeField(_("requested"))

    class Meta:
        verbose_name = _("call citation")
        verbose_name_plural = _("call citations")
        constraints = [
            # Ids of calls are ordered by time, so that this index lists the calls of a ref by time.
            models.UniqueConstraint(
                fields=["account", "ref", "report"], name="one_citation_per_call"
            )
        ]

    def __str__(self) -> str:
        return f"{self.ref} in {self.report_id}"


class ContextBody(AccountOwned):
    """A message, tool or retrieved text, stored once under a salted digest."""

    text = models.TextField(_("text"))  # JSON with keys in their original order
    used_on = models.DateField(_("last used"))
    # Lookup keys of the tool results in it, to delete it when one of them is erased. NULL for rows
    # of older releases; they are backfilled before the next erasure.
    results = ArrayField(models.CharField(max_length=64), null=True, editable=False)

    class Meta:
        verbose_name = _("part of a call")
        verbose_name_plural = _("parts of calls")
        constraints = [models.UniqueConstraint(fields=["account", "id"], name="body_in_account")]
        indexes = [
            models.Index(fields=["account", "used_on"], name="bodies_by_use"),
            # Few rows hold a result. Row-level security prevents `&&` from using a GIN index.
            models.Index(
                fields=["account", "id"], condition=Q(results__gt=[]), name="bodies_with_results"
            ),
            models.Index(
                fields=["account", "id"],
                condition=Q(results__isnull=True),
                name="bodies_without_marks",
            ),
        ]

    def __str__(self) -> str:
        return self.text[:60]


class ContextInput(AccountOwned):
    """The inputs of a call as references, to assemble it again."""

    report = SameAccountKey(ContextCostReport, related_name="inputs", verbose_name=_("call"))
    messages = ArrayField(models.UUIDField(), verbose_name=_("messages"), default=list, blank=True)
    tools = ArrayField(models.UUIDField(), verbose_name=_("tools"), default=list, blank=True)
    refs = ArrayField(
        models.CharField(max_length=200),
        verbose_name=_("retrieved content"),
        default=list,
        blank=True,
    )
    rest = models.JSONField(_("other inputs"))
    created_at = models.DateTimeField(_("requested"))

    class Meta:
        verbose_name = _("call input")
        verbose_name_plural = _("call inputs")
        constraints = [
            models.UniqueConstraint(fields=["account", "report"], name="one_input_per_report")
        ]
        indexes = [models.Index(fields=["account", "created_at"], name="inputs_by_age")]

    def __str__(self) -> str:
        return str(self.report_id)
