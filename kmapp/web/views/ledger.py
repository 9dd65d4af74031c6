"""The ledger: all commits, newest first, and the verification of the chain."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.ledger.accept_loss import accept_loss
from kmapp.ledger.chain_deviations import find_deviation, find_newest_checkpoint
from kmapp.ledger.models import Commit
from kmapp.ledger.verify import VerificationResult, verify_account
from kmapp.notifications.seal_mismatches import list_mismatches
from kmapp.web.account_forms import AcceptLossForm
from kmapp.web.actor_names import list_actor_names
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, paginate, parse_row_number
from kmapp.web.page_access import page_view
from kmapp.web.rate_limits import limit_requests
from kmapp.web.responses import redirect_page, render_form, render_part
from kmapp.web.statistics.daily import build_charts

PAGE_SIZE = 50
CHANGES_PER_PAGE = 500


@page_view("GET")
def ledger(request: WebRequest) -> HttpResponse:
    """List commits by number; the next page starts below the last one."""
    account_id = request.account_id
    rows = Commit.objects.of(account_id).with_change_counts().order_by("-seq")
    below = parse_row_number(request.GET.get("below", ""))
    if below is not None:
        rows = rows.filter(seq__lt=below)
    commits = list(rows[: PAGE_SIZE + 1])
    context: dict[str, Any] = {
        "behind": find_deviation(account_id),
        "mismatches": list_mismatches(account_id),
        "commits": commits[:PAGE_SIZE],
        "more": commits[PAGE_SIZE - 1].seq if len(commits) > PAGE_SIZE else None,
        "names": list_actor_names(row.actor for row in commits),
        "head": Commit.objects.of(account_id).defer("diff").order_by("-seq").first(),
        "checkpoint": find_newest_checkpoint(account_id),
    }
    if not request.htmx:  # a request for the list alone
        context["charts"] = build_charts(account_id, ["commits"])
    return render_part(request, "web/ledger/index.html", "list", context)


@page_view("GET")
def commit(request: WebRequest, pk: UUID) -> HttpResponse:
    rows = Commit.objects.of(request.account_id).select_related("note")
    row = get_object_or_404(rows, pk=pk)
    changes = row.list_changes()
    context = {
        "commit": row,
        "is_damaged": not changes or changes != row.diff,
        "page": paginate(request, changes, CHANGES_PER_PAGE),
        "names": list_actor_names([row.actor]),
    }
    return render(request, "web/ledger/detail.html", context)


@page_view("POST", needs=Permission.READ)
def check(request: WebRequest) -> AfterCommit:
    """Verify the chain now, in one short transaction per block."""
    account_id = request.account_id
    message = _("Too many checks. Wait a minute, then try again.")
    limit_requests("verify", f"{account_id}:{request.user.pk}", message)
    return AfterCommit(
        lambda: _render_verification(request, verify_account(account_id)), outside_transaction=True
    )


def _render_verification(request: WebRequest, checked: VerificationResult) -> AfterCommit:
    context = {"checked": checked}
    return AfterCommit(lambda: render_part(request, "web/ledger/checked.html", "checked", context))


@page_view("GET", "POST", needs=Permission.OPERATE)
def accept(request: WebRequest) -> HttpResponse | AfterCommit:
    """Accept a ledger that is not the signed one, after confirmation with a reason."""
    chain, form = find_deviation(request.account_id), AcceptLossForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        context = {"behind": chain, "form": form}
        return render_form(request, "web/ledger/accept.html", context, invalid=form.is_bound)
    reason = form.cleaned_data["reason"]
    return AfterCommit(lambda: _accept(request, reason), outside_transaction=True)


def _accept(request: WebRequest, reason: str) -> HttpResponse:
    accept_loss(request.account_id, request.actor, reason=reason)
    notice = _("Accepted and recorded in the ledger. The account can be changed again.")
    return redirect_page(request, reverse("web:ledger"), notice=notice)
