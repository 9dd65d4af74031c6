"""Django admin of rules, with the actions of the pages."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.permissions import Permission
from kmapp.web.admin.base import NewestFirstAdmin, ReadOnlyAdmin
from kmapp.web.after_commit import AfterCommitResponse
from kmapp.web.http import as_web_request
from rules.actions.state_changes import StateChange, change_state, roll_back_rule
from rules.models import (
    Rule,
    RuleBacktest,
    RuleBook,
    RuleDecision,
    RuleFeedback,
    RuleObservation,
    RulePromotion,
    RuleStatistics,
    RuleSuggestion,
    RuleVersion,
)

State = Rule.State
Rules = QuerySet[Rule]


@admin.register(Rule)
class RuleAdmin(ReadOnlyAdmin):
    list_display = ("name", "edition", "state", "priority", "audience", "updated_at")
    list_filter = ("state", "audience")
    search_fields = ("name", "summary", "=client_id", "=id")
    ordering = ("-updated_at", "-pk")
    hidden_fields = ("account", "written_sha256")
    actions = ("move_to_shadow", "promote", "roll_back", "disable")

    @admin.action(description=_("Move to shadow"), permissions=["edit"])
    def move_to_shadow(self, request: HttpRequest, rows: Rules) -> AfterCommitResponse | None:
        return self._change_states(request, rows, State.SHADOW)

    @admin.action(description=_("Promote if the evidence gate is met"), permissions=["manage"])
    def promote(self, request: HttpRequest, rows: Rules) -> AfterCommitResponse | None:
        return self._change_states(request, rows, State.ACTIVE)

    @admin.action(description=_("Roll back"), permissions=["manage"])
    def roll_back(self, request: HttpRequest, rows: Rules) -> AfterCommitResponse | None:
        return self.apply_to_each(
            request, rows, lambda rule: roll_back_rule(_build_state_change(request, rule))
        )

    @admin.action(description=_("Disable"), permissions=["manage"])
    def disable(self, request: HttpRequest, rows: Rules) -> AfterCommitResponse | None:
        return self._change_states(request, rows, State.DISABLED)

    def _change_states(
        self, request: HttpRequest, rows: Rules, to: str
    ) -> AfterCommitResponse | None:
        return self.apply_to_each(
            request, rows, lambda rule: change_state(_build_state_change(request, rule), to)
        )


def _build_state_change(request: HttpRequest, rule: Rule) -> StateChange:
    """Return a state change that does not override the gate; only admins change active rules."""
    is_admin = Permission.PROMOTE in as_web_request(request).permissions
    return StateChange(
        account_id=rule.account_id,
        rule_id=rule.pk,
        actor=as_web_request(request).actor,
        version=rule.version,
        reason=str(_("Changed on the admin pages.")),
        may_change_active=is_admin,
    )


@admin.register(RuleVersion)
class RuleVersionAdmin(NewestFirstAdmin):
    list_display = ("rule", "version", "event", "actor", "reason", "created_at")
    list_filter = ("event",)
    search_fields = ("=rule__id", "actor", "reason")


@admin.register(RuleBook)
class RuleBookAdmin(ReadOnlyAdmin):
    list_display = ("min_seen", "min_changed", "max_against", "second_person", "commit")
    search_fields = ("=id",)
    date_hierarchy = "commit__created_at"


@admin.register(RuleDecision)
class RuleDecisionAdmin(NewestFirstAdmin):
    list_display = ("selected_tool", "run_id", "agent_id", "differs", "fallback", "created_at")
    list_filter = ("differs", "origin", "strict")
    search_fields = ("=id", "=run_id", "=selected_tool", "=agent_id")


@admin.register(RuleObservation)
class RuleObservationAdmin(NewestFirstAdmin):
    list_display = ("rule", "decision", "matched", "changed", "created_at")
    list_filter = ("matched", "changed")
    search_fields = ("=rule__id", "=decision__id")


@admin.register(RuleFeedback)
class RuleFeedbackAdmin(NewestFirstAdmin):
    list_display = ("outcome", "run_id", "decision", "note", "created_by", "created_at")
    list_filter = ("outcome", "target")
    search_fields = ("note", "=run_id", "=decision__id")


@admin.register(RuleStatistics)
class RuleStatisticsAdmin(ReadOnlyAdmin):
    list_display = ("rule", "positive", "neutral", "negative", "updated_at")
    search_fields = ("=rule__id",)
    date_hierarchy = "updated_at"


@admin.register(RulePromotion)
class RulePromotionAdmin(NewestFirstAdmin):
    list_display = ("rule", "status", "override", "asked_by", "decided_by", "created_at")
    list_filter = ("status", "override")
    search_fields = ("=rule__id", "reason")


@admin.register(RuleBacktest)
class RuleBacktestAdmin(NewestFirstAdmin):
    list_display = ("rule", "status", "done", "total", "matched", "changed", "created_at")
    list_filter = ("status",)
    search_fields = ("=rule__id",)


@admin.register(RuleSuggestion)
class RuleSuggestionAdmin(NewestFirstAdmin):
    list_display = ("rule", "kind", "created_at")
    list_filter = ("kind",)
    search_fields = ("=rule__id",)
