"""API routes of rules. No trailing slashes."""

from django.urls import path

from rules.api import decisions, evaluation, feedback, promotion, rules, tool_selection

urlpatterns = [
    path("v1/memory/rules/evaluate", evaluation.Evaluate.as_view(), name="api_evaluate"),
    path("v1/memory/rules/state", rules.State.as_view(), name="api_state"),
    path("v1/memory/tools/select", tool_selection.Select.as_view(), name="api_select"),
    path("v1/memory/tools/decision", decisions.Decision.as_view(), name="api_decision"),
    path("v1/memory/tools/run", decisions.Run.as_view(), name="api_run"),
    path("v1/memory/tools/feedback", feedback.Feedback.as_view(), name="api_feedback"),
    path("v1/rules", rules.Rules.as_view(), name="api_rules"),
    path("v1/rules/gate", promotion.Gate.as_view(), name="api_gate"),
    path("v1/rules/schemas", rules.Schemas.as_view(), name="api_schemas"),
    path("v1/rules/<uuid:pk>", rules.OneRule.as_view(), name="api_rule"),
    path("v1/rules/<uuid:pk>/rollback", rules.Rollback.as_view(), name="api_rollback"),
    path("v1/rules/<uuid:pk>/feedback", feedback.RuleFeedbackView.as_view(), name="api_rate"),
    path("v1/rules/<uuid:pk>/evidence", promotion.Evidence.as_view(), name="api_evidence"),
    path("v1/rules/<uuid:pk>/backtest", promotion.Backtests.as_view(), name="api_backtest"),
]
