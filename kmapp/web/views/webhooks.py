"""Webhooks: list, create, change, delete. The signing secret is displayed once, when created."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from kmapp.accounts.permissions import Permission
from kmapp.errors import DomainError
from kmapp.notifications.webhooks.actions import (
    CreatedWebhook,
    create_webhook,
    delete_webhook,
    get_allowed_receivers,
    update_webhook,
)
from kmapp.notifications.webhooks.change_registry import list_event_types
from kmapp.notifications.webhooks.models import Webhook
from kmapp.notifications.webhooks.payloads import NATIVE
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, get_row_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form
from kmapp.web.webhook_form import WebhookForm

FORM = "web/webhooks/form.html"


@page_view("GET", needs=Permission.KEYS)
def webhooks(request: WebRequest) -> HttpResponse:
    rows = Webhook.objects.of(request.account_id).order_by("-created_at")
    labels = list_event_types()
    listed = [(row, [labels.get(name, name) for name in row.event_types]) for row in rows]
    context = {"webhooks": listed, "is_off": not get_allowed_receivers()}
    return render(request, "web/webhooks/index.html", context)


@never_cache
@page_view("GET", "POST", needs=Permission.KEYS)
def create(request: WebRequest) -> HttpResponse | AfterCommit:
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            created = create_webhook(
                account_id=request.account_id,
                actor=request.actor,
                payload_format=form.cleaned_data["payload_format"] or NATIVE,
                **_get_values(form),
            )
        except DomainError as error:
            form.add_refusal(error)
        else:
            return AfterCommit(lambda: _render_secret(request, created))
    return render_form(request, FORM, {"form": form}, invalid=form.is_bound)


@page_view("GET", "POST", needs=Permission.KEYS)
def change(request: WebRequest, pk: UUID) -> HttpResponse:
    webhook = get_row_or_404(request, Webhook, pk)
    form = WebhookForm(request.POST or None, initial=WebhookForm.values_of(webhook))
    if request.method == "POST" and form.is_valid():
        values = {**_get_values(form), "is_active": form.cleaned_data["is_active"]}
        try:
            update_webhook(
                request.account_id,
                pk,
                values,
                actor=request.actor,
                commit_id=form.cleaned_data["commit_id"],
            )
        except DomainError as error:
            if error.code == "stale_version":
                form.add_conflict("commit_id", get_row_or_404(request, Webhook, pk).commit_id)
            else:
                form.add_refusal(error)
        else:
            return redirect_with_notice(request, _("Webhook saved."), "web:webhooks")
    context = {"form": form, "webhook": webhook}
    return render_form(request, FORM, context, invalid=form.is_bound)


@page_view("GET", "POST", needs=Permission.KEYS)
def delete(request: WebRequest, pk: UUID) -> HttpResponse:
    webhook = get_row_or_404(request, Webhook, pk)
    if request.method != "POST":
        return render(request, "web/webhooks/confirm.html", {"webhook": webhook})
    delete_webhook(request.account_id, pk, actor=request.actor)
    return redirect_with_notice(request, _("Webhook deleted."), "web:webhooks")


def _get_values(form: WebhookForm) -> dict[str, Any]:
    return {name: form.cleaned_data[name] for name in ("name", "url", "event_types")}


def _render_secret(request: WebRequest, created: CreatedWebhook) -> HttpResponse:
    context = {"webhook": created.webhook, "secret": created.secret}
    return render(request, "web/webhooks/created.html", context)
