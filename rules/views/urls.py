"""Page routes of rules."""

from django.urls import path

from rules.views import backtests, decisions, editor, home_summary, promotion, settings
from rules.views import rules as pages

urlpatterns = [
    path("rules/", pages.rules, name="rules"),
    path("rules/summary/", home_summary.summary, name="summary"),
    path("rules/counts/", pages.counts, name="counts"),
    path("rules/new/", editor.new_rule, name="new"),
    path("rules/check/", editor.validate_editor, name="check"),
    path("rules/<uuid:pk>/edit/", editor.edit_rule, name="edit"),
    path("rules/decisions/", decisions.decisions, name="decisions"),
    path("rules/decisions/<uuid:pk>/", decisions.decision, name="decision"),
    path("rules/decisions/<uuid:pk>/rate/", decisions.rate, name="rate"),
    path("rules/conflicts/", decisions.conflicts, name="conflicts"),
    path("rules/feedback/", decisions.feedback, name="feedback"),
    path("rules/<uuid:pk>/backtest/", backtests.start_backtest, name="backtest"),
    path("rules/<uuid:pk>/backtest/progress/", backtests.progress, name="backtest_progress"),
    path("rules/gate/", settings.settings, name="book"),
    path("rules/gate/set/", settings.save_settings, name="book_set"),
    path("rules/<uuid:pk>/", pages.rule, name="rule"),
    path("rules/<uuid:pk>/move/", pages.move_rule, name="move"),
    path("rules/<uuid:pk>/rollback/", pages.roll_back, name="rollback"),
    path("rules/<uuid:pk>/promotion/", promotion.promotion, name="promotion"),
    path("rules/promotions/<uuid:pk>/approve/", promotion.approve_promotion, name="approve"),
    path("rules/promotions/<uuid:pk>/withdraw/", promotion.withdraw_promotion, name="withdraw"),
]
