"""Rules' addresses. API routes have no last slash."""

from django.urls import path

from rules.api import evidence, gate, rules, tools
from rules.views import backtests, book, decisions, editing, promotion, summary
from rules.views import rules as pages

app_name = "rules"
urlpatterns = [
    path("v1/memory/rules/evaluate", tools.Evaluate.as_view(), name="api_evaluate"),
    path("v1/memory/rules/state", rules.State.as_view(), name="api_state"),
    path("v1/memory/tools/select", tools.Select.as_view(), name="api_select"),
    path("v1/memory/tools/decision", tools.Decision.as_view(), name="api_decision"),
    path("v1/memory/tools/run", tools.Run.as_view(), name="api_run"),
    path("v1/memory/tools/feedback", tools.Feedback.as_view(), name="api_feedback"),
    path("v1/rules", rules.Rules.as_view(), name="api_rules"),
    path("v1/rules/gate", gate.Gate.as_view(), name="api_gate"),
    path("v1/rules/schemas", rules.Schemas.as_view(), name="api_schemas"),
    path("v1/rules/<uuid:pk>", rules.OneRule.as_view(), name="api_rule"),
    path("v1/rules/<uuid:pk>/rollback", rules.Rollback.as_view(), name="api_rollback"),
    path("v1/rules/<uuid:pk>/feedback", tools.RuleFeedbackView.as_view(), name="api_rate"),
    path("v1/rules/<uuid:pk>/evidence", evidence.Evidence.as_view(), name="api_evidence"),
    path("v1/rules/<uuid:pk>/backtest", evidence.Backtests.as_view(), name="api_backtest"),
    path("rules/", pages.rules, name="rules"),
    path("rules/summary/", summary.summary, name="summary"),
    path("rules/counts/", pages.counts, name="counts"),
    path("rules/new/", editing.new, name="new"),
    path("rules/check/", editing.check, name="check"),
    path("rules/<uuid:pk>/edit/", editing.edit_rule, name="edit"),
    path("rules/decisions/", decisions.decisions, name="decisions"),
    path("rules/decisions/<uuid:pk>/", decisions.decision, name="decision"),
    path("rules/decisions/<uuid:pk>/rate/", decisions.rate, name="rate"),
    path("rules/conflicts/", decisions.conflicts, name="conflicts"),
    path("rules/feedback/", decisions.feedback, name="feedback"),
    path("rules/<uuid:pk>/backtest/", backtests.start_backtest, name="backtest"),
    path("rules/<uuid:pk>/backtest/progress/", backtests.progress, name="backtest_progress"),
    path("rules/gate/", book.book, name="book"),
    path("rules/gate/set/", book.set_book, name="book_set"),
    path("rules/<uuid:pk>/", pages.rule, name="rule"),
    path("rules/<uuid:pk>/move/", pages.move_rule, name="move"),
    path("rules/<uuid:pk>/rollback/", pages.roll_back, name="rollback"),
    path("rules/<uuid:pk>/promotion/", promotion.promotion, name="promotion"),
    path("rules/promotions/<uuid:pk>/approve/", promotion.approve_promotion, name="approve"),
    path("rules/promotions/<uuid:pk>/withdraw/", promotion.withdraw_promotion, name="withdraw"),
]
