"""Operations: pending jobs, failed jobs and retries."""

from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.permissions import Permission
from kmapp.ledger.chain_deviations import find_deviation, list_deviations
from kmapp.ledger.checkpoint_copy_thread import load_copy_status
from kmapp.notifications.seal_mismatches import list_mismatches
from kmapp.outbox.failed_deliveries import retry_deliveries
from kmapp.outbox.job_result_registry import load_outcome
from kmapp.outbox.models import Delivery, DeliveryQuerySet
from kmapp.web.badge_counts import count_badge
from kmapp.web.http import WebRequest, get_row_or_404, paginate, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_part
from kmapp.web.statistics.system_charts import DEFAULT_PERIOD, PERIODS, build_system_charts


@count_badge("web:operations")
def list_failed_jobs(request: WebRequest) -> DeliveryQuerySet:
    return Delivery.objects.of(request.account_id).dead()


@page_view("GET")
def operations(request: WebRequest) -> HttpResponse:
    account_id = request.account_id
    rows = Delivery.objects.of(account_id)
    dead = rows.dead().select_related("event").order_by("-failed_at")
    context: dict[str, Any] = {
        "behind": find_deviation(account_id),
        "mismatches": list_mismatches(account_id),
        "queues": _list_queues(rows.open()),
        "page": paginate(request, dead),
    }
    if request.user.is_superuser:  # figures of all accounts are for the owner of the installation
        name = request.GET.get("period", "")
        period = PERIODS.get(name) or PERIODS[DEFAULT_PERIOD]
        others = list_deviations(besides=account_id)
        context |= {"others_behind": others, "copies": load_copy_status()}
        context |= {"charts": build_system_charts(period), "periods": PERIODS, "period": period}
    return render_part(request, "web/operations/index.html", "list", context)


def _list_queues(open_rows: DeliveryQuerySet) -> list[dict[str, Any]]:
    """Return pending and running jobs by handler, with the age of the oldest."""
    running = Q(lease_token__isnull=False)
    grouped = open_rows.values("handler", "queue").annotate(
        waiting=Count("pk", filter=~running),
        running=Count("pk", filter=running),
        oldest=Min("event__created_at"),
        reason=Min("reason", filter=~Q(reason="")),
    )
    return [dict(row) for row in grouped.order_by("queue", "handler")]


@page_view("GET")
def delivery(request: WebRequest, pk: UUID) -> HttpResponse:
    rows = Delivery.objects.of(request.account_id).select_related("event")
    row = get_object_or_404(rows, pk=pk)
    evidence = load_outcome(row.account_id, row.event.topic, row.event.payload).evidence
    return render(request, "web/operations/detail.html", {"row": row, "evidence": evidence})


@page_view("POST", needs=Permission.OPERATE)
def retry(request: WebRequest) -> HttpResponse:
    account_id, one = request.account_id, request.POST.get("delivery")
    selected = one and get_row_or_404(request, Delivery, uuid_or_404(one))
    revived = retry_deliveries(account_id, [selected.pk] if selected else None)
    return redirect_with_notice(
        request,
        ngettext("Retrying %(n)d job.", "Retrying %(n)d jobs.", revived) % {"n": revived}
        if revived
        else _("Already retried by someone else."),
        "web:operations",
    )
