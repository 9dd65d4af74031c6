"""Notifications of a person: the list, what they have read, and what they want to know."""

from datetime import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.accounts.permissions import Permission
from kmapp.notifications import actions
from kmapp.notifications.close_notifications import load_subjects
from kmapp.notifications.email_messages import parse_unsubscription, unsubscribe
from kmapp.notifications.kinds import Subject, find_kind, list_kinds
from kmapp.notifications.models import Notification, NotificationQuerySet
from kmapp.notifications.notification_line import NotificationLine
from kmapp.web.badge_counts import count_badge
from kmapp.web.http import WebRequest, paginate, safe_next_url
from kmapp.web.navigation import NOTIFICATIONS
from kmapp.web.notification_forms import NotificationSettingsForm
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form, render_part
from kmapp.web.timestamps import format_relative

PAGE_SIZE = 25
OPEN, UNREAD, RESOLVED = "", "unread", "resolved"


@count_badge(NOTIFICATIONS)
def unread(request: WebRequest) -> NotificationQuerySet:
    return _list_visible(request).filter(Q(is_unread=True))


def _list_visible(request: WebRequest) -> NotificationQuerySet:
    rows = Notification.objects.of(request.account_id)
    visible = rows.visible_to(request.user, list_kinds(request.permissions))
    return visible.with_unread(request.user)


@page_view("GET")
def notifications(request: WebRequest) -> HttpResponse:
    """List the notifications that a person may see, newest first."""
    state, name = request.GET.get("state", OPEN), request.GET.get("kind", "")
    kinds = list_kinds(request.permissions)
    rows = _list_visible(request).filter(closed_at__isnull=state != RESOLVED)
    if state == UNREAD:
        rows = rows.filter(Q(is_unread=True))
    if name in {kind.name for kind in kinds}:
        rows = rows.filter(kind=name)
    page = paginate(request, rows.order_by("-last_at", "-pk"), PAGE_SIZE)
    still_open = load_subjects(request.account_id, [row for row in page if not row.closed_at])
    context = {
        "page": page,
        "lines": [_describe(row, still_open.get((row.kind, row.subject))) for row in page],
        "kinds": kinds,
        "kind": name,
        "state": state,
        "states": {OPEN: _("Unresolved"), UNREAD: _("Unread"), RESOLVED: _("Resolved")},
        "now": timezone.now().isoformat(),
    }
    return render_part(request, "web/notifications/index.html", "list", context)


def _describe(row: Notification, subject: Subject | None) -> dict[str, Any]:
    """Return what a line shows; without a subject, the notification is resolved."""
    line = NotificationLine.of(row, subject)
    return {
        "row": row,
        "kind": line.kind,
        "text": line.text,
        "title": line.title or (subject.excerpt if subject else ""),
        "is_open": subject is not None,
        "is_repeated": format_relative(row.first_at) != format_relative(row.last_at),
        "is_unread": row.is_unread and subject is not None,
    }


@page_view("GET")
def open_one(request: WebRequest, pk: UUID) -> HttpResponse:
    """Mark a notification as read, and go to the page that it is about."""
    row = _get_visible(request, pk)
    kind = find_kind(row.kind)
    actions.mark_read(row, request.user)
    return redirect(kind.url(row.subject) if kind else NOTIFICATIONS)


@page_view("POST", needs=Permission.READ)
def read_one(request: WebRequest, pk: UUID) -> HttpResponse:
    actions.mark_read(_get_visible(request, pk), request.user)
    return redirect(safe_next_url(request, NOTIFICATIONS))


def _get_visible(request: WebRequest, pk: UUID) -> Notification:
    """Return a notification of a kind that this person may see."""
    return get_object_or_404(_list_visible(request), pk=pk)


@page_view("POST", needs=Permission.READ)
def read_all(request: WebRequest) -> HttpResponse:
    """Mark what the page showed as read; what happened since stays unread."""
    try:
        until = datetime.fromisoformat(request.POST.get("until", ""))
    except ValueError:
        until = timezone.now()
    until = until if until.tzinfo else timezone.now()
    actions.mark_all_read(request.account_id, request.user, until)
    return redirect_with_notice(request, _("All notifications are marked as read."), NOTIFICATIONS)


@page_view("GET", "POST", needs=Permission.READ)
def choose(request: WebRequest) -> HttpResponse:
    """Choose what is shown on pages and what is sent by e-mail, for this account."""
    chosen = actions.load_settings(request.account_id, request.user)
    form = NotificationSettingsForm(
        request.POST or None, settings=chosen, kinds=list_kinds(request.permissions)
    )
    if request.method == "POST" and form.is_valid():
        actions.save_settings(request.account_id, request.user, form.values())
        return redirect_with_notice(
            request, _("Notification settings saved."), "web:notification_settings"
        )
    context = {
        "form": form,
        "email_zone": request.user.time_zone or settings.TIME_ZONE,
        "sends_mail": bool(settings.EMAIL_HOST),
    }
    return render_form(request, "web/notifications/settings.html", context, invalid=form.is_bound)


@never_cache
@csrf_exempt  # mail programs send it without cookies; the link is signed
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_page(request: HttpRequest, token: str) -> HttpResponse:
    """Stop the e-mails of an account. A GET changes nothing, because mail servers open links."""
    ids = parse_unsubscription(token)
    if ids is None:
        return render(
            request,
            "web/notifications/unsubscribe.html",
            {"state": "void"},
            status=HTTPStatus.NOT_FOUND,
        )
    account_id, user_id = ids
    state = "ask"
    if request.method == "POST":
        unsubscribe(account_id, user_id)
        state = "done"
    with acting(account_id):
        account = Account.objects.filter(pk=account_id).first()
    return render(
        request, "web/notifications/unsubscribe.html", {"state": state, "account": account}
    )
