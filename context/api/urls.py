"""API routes of context. No trailing slashes."""

from django.urls import path

from context.api import archives, calls, comparisons, costs, replays, settings, variant_statistics

urlpatterns = [
    path("v1/tool-results", archives.Results.as_view(), name="api_results"),
    path("v1/tool-results/load", archives.LoadResult.as_view(), name="api_results_load"),
    path("v1/tool-results/search", archives.SearchResults.as_view(), name="api_results_search"),
    path("v1/tool-results/<uuid:pk>", archives.OneResult.as_view(), name="api_result"),
    path("v1/context/prepare", archives.Prepare.as_view(), name="api_prepare"),
    path("v1/context/restore", archives.Restore.as_view(), name="api_restore"),
    path("v1/context/load-tool", archives.LoadTool.as_view(), name="api_load_tool"),
    path("v1/context/assemble", calls.Assemble.as_view(), name="api_assemble"),
    path("v1/context/reports", calls.Reports.as_view(), name="api_reports"),
    path("v1/context/reports/<uuid:pk>", calls.OneReport.as_view(), name="api_report"),
    path(
        "v1/context/reports/<uuid:pk>/replay",
        replays.Replay.as_view(),
        name="api_report_replay",
    ),
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
