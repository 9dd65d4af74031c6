"""The ledger: every change of truth, newest first, and the check that it is whole."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from kmapp.ledger.checkpoint_status import behind
from kmapp.ledger.models import Checkpoint, Commit
from kmapp.ledger.verify import Checked, verify
from kmapp.web.actor_names import names_of
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, account_id_for, fragment, parse_row_number
from kmapp.web.page_access import reviewer_required

PAGE = 50


@require_safe
@reviewer_required
def ledger(request: WebRequest) -> HttpResponse:
    """Commits by number: the next page starts below the last one shown."""
    account_id = account_id_for(request)
    rows = Commit.objects.of(account_id).order_by("-seq")
    below = parse_row_number(request.GET.get("below", ""))
    if below is not None:
        rows = rows.filter(seq__lt=below)
    found = list(rows[: PAGE + 1])
    context = {
        "behind": behind(account_id),
        "commits": found[:PAGE],
        "more": found[PAGE - 1].seq if len(found) > PAGE else None,
        "names": names_of(row.actor for row in found),
        "head": Commit.objects.of(account_id).order_by("-seq").first(),
        "checkpoint": Checkpoint.objects.of(account_id).order_by("-seq").first(),
    }
    return render(request, fragment(request, "web/ledger/index.html", "list"), context)


@require_safe
@reviewer_required
def commit(request: WebRequest, pk: UUID) -> HttpResponse:
    rows = Commit.objects.of(account_id_for(request)).select_related("note")
    row = get_object_or_404(rows, pk=pk)
    context = {"commit": row, "names": names_of([row.actor])}
    return render(request, "web/ledger/detail.html", context)


@require_POST
@reviewer_required
def check(request: WebRequest) -> AfterCommit:
    """Read the chain now: a transaction a block, none of them long."""
    account_id = account_id_for(request)
    return AfterCommit(lambda: _checked(request, verify(account_id)), outside_transaction=True)


def _checked(request: WebRequest, checked: Checked) -> AfterCommit:
    return AfterCommit(lambda: render(request, "web/ledger/checked.html", {"checked": checked}))
