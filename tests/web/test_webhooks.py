"""Pages of webhooks."""

import re

import pytest
from django.test import Client
from pytest_django import Settings

from kmapp.accounts.models import Account
from kmapp.notifications.webhooks.models import Webhook
from tests import makers

pytestmark = pytest.mark.django_db
FORM = {"name": "Tickets", "url": "https://hooks.test/in", "event_types": ["memory.added"]}


def test_an_admin_creates_changes_and_deletes_a_webhook(admin: Client, acme: Account) -> None:
    created = admin.post("/webhooks/new/", FORM)
    assert re.search(r"whsec_[A-Za-z0-9+/=]{44}", created.text)
    assert "no-store" in created["Cache-Control"]
    [webhook] = makers.rows(Webhook, acme)
    list_page = admin.get("/webhooks/").text
    assert "Tickets" in list_page
    assert re.findall(r">: <bdi hx-disable>(\w+)</bdi></span></a>", list_page) == ["Tickets"] * 2
    assert "whsec_" not in list_page
    assert "hooks.test/in" in admin.get(f"/webhooks/{webhook.pk}/").text
    admin.post(f"/webhooks/{webhook.pk}/", {**FORM, "name": "Archive"})
    [webhook] = makers.rows(Webhook, acme)
    assert (webhook.name, webhook.is_active) == ("Archive", False)
    assert "Delete this webhook?" in admin.get(f"/webhooks/{webhook.pk}/delete/").text
    admin.post(f"/webhooks/{webhook.pk}/delete/")
    assert makers.rows(Webhook, acme) == []


def test_change_of_someone_else_is_replaced_by_saving_again(admin: Client, acme: Account) -> None:
    admin.post("/webhooks/new/", FORM)
    [webhook] = makers.rows(Webhook, acme)
    path = f"/webhooks/{webhook.pk}/"
    form = {**FORM, "commit_id": str(webhook.commit_id)}
    assert f'value="{webhook.commit_id}"' in admin.get(path).text
    assert admin.post(path, {**form, "name": "Archive"}).status_code == 302
    late = admin.post(path, {**form, "name": "Tickets 2"})
    assert late.status_code == 422
    webhook = makers.get(Webhook, acme)
    expected = ("Someone else changed this", "Tickets 2", f'value="{webhook.commit_id}"')
    assert makers.missing(late.text, *expected) == []
    assert webhook.name == "Archive"
    again = {**form, "name": "Tickets 2", "commit_id": str(webhook.commit_id)}
    assert admin.post(path, again).status_code == 302
    assert makers.get(Webhook, acme).name == "Tickets 2"


def test_form_shows_the_error_of_a_refused_address(admin: Client) -> None:
    answer = admin.post("/webhooks/new/", {**FORM, "url": "https://other.test/"})
    assert answer.status_code == 422
    assert "This site is not on the list of allowed sites." in answer.text
    assert "hooks.test" in answer.text


def test_the_page_says_that_webhooks_are_off(admin: Client, settings: Settings) -> None:
    settings.WEBHOOK_HOSTS = []
    page = admin.get("/webhooks/").text
    assert "WEBHOOK_HOSTS" in page
    assert "Create a webhook" not in page
    answer = admin.post("/webhooks/new/", FORM)
    assert answer.status_code == 422
    assert "This installation sends no webhooks" in answer.text
