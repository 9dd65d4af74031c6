"""API routes of context. No trailing slashes."""

from django.urls import path

from context.api import (
    calls,
    comparisons,
    costs,
    replays,
    settings,
    tool_results,
    variant_statistics,
)

urlpatterns = [
    path("v1/tool-results", tool_results.Results.as_view(), name="api_results"),
    path("v1/tool-results/load", tool_results.LoadResult.as_view(), name="api_results_load"),
    path("v1/tool-results/search", tool_results.SearchResults.as_view(), name="api_results_search"),
    path("v1/tool-results/<uuid:pk>", tool_results.OneResult.as_view(), name="api_result"),
    path("v1/context/prepare", tool_results.Prepare.as_view(), name="api_prepare"),
    path("v1/context/restore", tool_results.Restore.as_view(), name="api_restore"),
    path("v1/context/load-tool", tool_results.LoadTool.as_view(), name="api_load_tool"),
    path("v1/context/assemble", calls.Assemble.as_view(), name="api_assemble"),
    path("v1/context/reports", calls.Reports.as_view(), name="api_reports"),
    path("v1/context/reports/<uuid:pk>", calls.OneReport.as_view(), name="api_report"),
    path("v1/context/reports/<uuid:pk>/replay", replays.Replay.as_view(), name="api_report_replay"),
    path(
        "v1/context/reports/<uuid:pk>/outcome",
        calls.ReportOutcome.as_view(),
        name="api_report_outcome",
    ),
    path("v1/context/comparisons", comparisons.Comparisons.as_view(), name="api_comparisons"),
    path(
        "v1/context/comparisons/<uuid:pk>",
        comparisons.OneComparison.as_view(),
        name="api_comparison",
    ),
    path(
        "v1/context/comparisons/<uuid:pk>/calls",
        comparisons.Differences.as_view(),
        name="api_comparison_calls",
    ),
    path("v1/context/settings", settings.CallSettingsView.as_view(), name="api_settings"),
    path(
        "v1/context/variants", variant_statistics.VariantStatistics.as_view(), name="api_variants"
    ),
    path("v1/context/costs", costs.CallCosts.as_view(), name="api_costs"),
]
