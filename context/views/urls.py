"""Page routes of context."""

from django.urls import path

from context.views import archives as pages
from context.views import calls, comparisons, person, sessions, settings
from context.views.costs import costs
from context.views.variant_statistics import variants

urlpatterns = [
    path("calls/", calls.calls, name="calls"),
    path("calls/variants/", variants, name="variants"),
    path("calls/settings/", settings.settings, name="settings"),
    path("calls/settings/set/", settings.set_settings, name="settings_set"),
    path("calls/costs/", costs, name="costs"),
    path("calls/comparisons/", comparisons.comparisons, name="comparisons"),
    path("calls/comparisons/new/", comparisons.compare, name="compare"),
    path("calls/comparisons/<uuid:pk>/", comparisons.comparison, name="comparison"),
    path("calls/comparisons/<uuid:pk>/progress/", comparisons.progress, name="comparison_progress"),
    path("calls/<uuid:pk>/", calls.call, name="call"),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/timeline/", sessions.session, name="session"),
    path("people/", person.person, name="person"),
    path("people/export/", person.export, name="person_export"),
    path("tool-results/", pages.archives, name="archives"),
    path("tool-results/keeping/", pages.retention, name="keeping"),
    path("tool-results/keeping/set/", pages.update_retention, name="keeping_set"),
    path("tool-results/<uuid:pk>/", pages.archive, name="archive"),
    path("tool-results/<uuid:pk>/erase/", pages.erase_archive, name="archive_erase"),
]
