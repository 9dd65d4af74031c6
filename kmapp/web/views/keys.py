"""API keys: issue, rotate, revoke. A secret is displayed once, on a page that is never cached."""

from uuid import UUID

from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from kmapp.accounts.actions import IssuedKey, issue_key, revoke_key, rotate_key
from kmapp.accounts.models import ApiKey
from kmapp.accounts.permissions import Permission
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, get_row_or_404, paginate
from kmapp.web.key_form import KeyForm
from kmapp.web.key_quota_registry import list_quotas
from kmapp.web.key_snippet_registry import list_key_snippets
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form, render_part


@page_view("GET", needs=Permission.KEYS)
def keys(request: WebRequest) -> HttpResponse:
    account_id = request.account_id
    in_use_first = F("revoked_at").desc(nulls_first=True)
    rows = ApiKey.objects.of(account_id).order_by(in_use_first, "-created_at")
    page = paginate(request, rows)
    quotas = list_quotas(account_id, [key.pk for key in page if not key.revoked_at])
    rows_with_quotas = [(key, quotas.get(key.pk, [])) for key in page]
    context = {"page": page, "keys": rows_with_quotas, "now": timezone.now()}
    return render_part(request, "web/keys/index.html", "list", context)


@never_cache
@page_view("GET", "POST", needs=Permission.KEYS)
def issue(request: WebRequest) -> HttpResponse | AfterCommit:
    form = KeyForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return render_form(request, "web/keys/form.html", {"form": form}, invalid=form.is_bound)
    issued = issue_key(
        account_id=request.account_id,
        name=form.cleaned_data["name"],
        scopes=form.cleaned_data["scopes"],
        expires_at=form.expires_at(),
        actor=request.actor,
    )
    return AfterCommit(lambda: _render_secret(request, issued))


@never_cache
@page_view("GET", "POST", needs=Permission.KEYS)
def rotate(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Ask for confirmation first, because the old secret stops working immediately."""
    key = get_row_or_404(request, ApiKey, pk)
    if request.method != "POST":
        return render(request, "web/keys/confirm.html", {"key": key, "operation": "rotate"})
    issued = rotate_key(key, actor=request.actor)
    return AfterCommit(lambda: _render_secret(request, issued))


@page_view("GET", "POST", needs=Permission.KEYS)
def revoke(request: WebRequest, pk: UUID) -> HttpResponse:
    key = get_row_or_404(request, ApiKey, pk)
    if request.method != "POST":
        return render(request, "web/keys/confirm.html", {"key": key, "operation": "revoke"})
    revoke_key(key, actor=request.actor)
    return redirect_with_notice(
        request,
        _("Key revoked. Requests with %(name)s are now refused.") % {"name": key.name},
        "web:keys",
    )


def _render_secret(request: WebRequest, issued: IssuedKey) -> HttpResponse:
    """Render the only page that displays the secret."""
    health = request.build_absolute_uri(reverse("api:health"))
    context = {
        "key": issued.key,
        "secret": issued.secret,
        "command": f"curl -s {health} -H 'Authorization: Bearer {issued.secret}'",
        "snippets": list_key_snippets(request, issued.secret),
    }
    return render(request, "web/keys/issued.html", context)
