"""API keys: issue, rotate, revoke. A secret is displayed once, on a page that is never cached."""

from http import HTTPStatus
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from kmapp.accounts.actions import IssuedKey, issue_key, revoke_key, rotate_key
from kmapp.accounts.models import ApiKey
from kmapp.web.after_commit import AfterCommit
from kmapp.web.forms import KeyForm
from kmapp.web.http import WebRequest, account_id_for, actor_for, fragment
from kmapp.web.notices import notify_success
from kmapp.web.page_access import admin_required
from kmapp.web.quotas import list_quotas


@require_safe
@admin_required
def keys(request: WebRequest) -> HttpResponse:
    account_id = account_id_for(request)
    rows = ApiKey.objects.of(account_id).order_by("revoked_at", "-created_at")
    page = Paginator(rows, 50).get_page(request.GET.get("page"))
    quotas = list_quotas(account_id, [key.pk for key in page if not key.revoked_at])
    rows_with_quotas = [(key, quotas.get(key.pk, [])) for key in page]
    context = {"page": page, "keys": rows_with_quotas, "now": timezone.now()}
    return render(request, fragment(request, "web/keys/index.html", "list"), context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@admin_required
def issue(request: WebRequest) -> HttpResponse | AfterCommit:
    form = KeyForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
        return render(request, "web/keys/form.html", {"form": form}, status=status)
    issued = issue_key(
        account_id=account_id_for(request),
        name=form.cleaned_data["name"],
        scopes=form.cleaned_data["scopes"],
        expires_at=form.expires_at(),
        actor=actor_for(request),
    )
    return AfterCommit(lambda: _render_secret(request, issued))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@admin_required
def rotate(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Ask for confirmation first, because the old secret stops working immediately."""
    key = get_object_or_404(ApiKey.objects.of(account_id_for(request)), pk=pk)
    if request.method != "POST":
        return render(request, "web/keys/confirm.html", {"key": key, "operation": "rotate"})
    issued = rotate_key(key, actor=actor_for(request))
    return AfterCommit(lambda: _render_secret(request, issued))


@require_http_methods(["GET", "HEAD", "POST"])
@admin_required
def revoke(request: WebRequest, pk: UUID) -> HttpResponse:
    key = get_object_or_404(ApiKey.objects.of(account_id_for(request)), pk=pk)
    if request.method != "POST":
        return render(request, "web/keys/confirm.html", {"key": key, "operation": "revoke"})
    revoke_key(key, actor=actor_for(request))
    notify_success(
        request, _("Key revoked. Requests with %(name)s are now refused.") % {"name": key.name}
    )
    return redirect("web:keys")


def _render_secret(request: WebRequest, issued: IssuedKey) -> HttpResponse:
    """Render the only page that displays the secret."""
    health = request.build_absolute_uri(reverse("api:health"))
    command = f"curl -s {health} -H 'Authorization: Bearer {issued.secret}'"
    context = {"key": issued.key, "secret": issued.secret, "command": command}
    return render(request, "web/keys/issued.html", context)
