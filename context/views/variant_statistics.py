"""Page of variant statistics."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from context.models import ContextSettings
from context.reports.costs import DEFAULT_DAYS, Period, calculate_totals
from context.reports.variant_statistics import VariantFigures, list_variant_figures
from context.views.costs import CostsForm, build_calls_url
from kmapp.search.variants import VARIANTS
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view


@page_view("GET")
def variants(request: WebRequest) -> HttpResponse:
    form = CostsForm({"days": DEFAULT_DAYS} | request.GET.dict())
    filters = form.cleaned_data if form.is_valid() else {}
    settings = ContextSettings.objects.get_or_default(request.account_id)
    period = Period.of(settings, filters)
    results = list_variant_figures(period)
    context = {
        "form": form,
        "rows": [_row(result, settings, period) for result in results],
        "totals": calculate_totals(period),
        "shares": settings.variants.items(),
        "narrowed": bool(period.agent_id or period.model),
        "has_outcomes": any(result.success.total for result in results),
    }
    return render(request, "context/variants/index.html", context)


def _row(result: VariantFigures, settings: ContextSettings, period: Period) -> dict[str, Any]:
    variant, success = VARIANTS.get(result.variant), result.success
    return {
        "result": result,
        "variant": variant,
        "url": build_calls_url(period, {"variant": result.variant}),
        "share": settings.variants.get(result.variant),
        "percent": 100 * success.share,
        "low": 100 * success.low,
        "high": 100 * success.high,
    }
