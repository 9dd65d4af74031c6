"""Notifications: their causes, their resolution, and webhooks."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.notifications.actions import notify
from kmapp.notifications.kernel_kinds import LEDGER_BROKEN, ROWS
from kmapp.notifications.models import Notification
from kmapp.notifications.tasks import refresh_notifications
from memory.actions.review import reject
from tests import makers
from tests.kernel.notification_causes import (
    FAILING,
    ask_for_promotion,
    break_ledger,
    contradict,
    exceed_quota,
    exceed_tokens,
    fail_jobs,
    propose_two,
    rows,
    settle,
)
from tests.web.proposals import propose
from tests.webhook_receiver import receive_webhooks

pytestmark = pytest.mark.django_db

CAUSES: dict[Callable[[Account], None], tuple[str, int]] = {
    propose_two: ("proposals.waiting", 2),
    contradict: ("contradiction.found", 1),
    ask_for_promotion: ("promotion.requested", 2),
    fail_jobs: ("job.failed", 2),
    exceed_quota: ("budget.exceeded", 1),
    exceed_tokens: ("budget.exceeded", 1),
    break_ledger: ("ledger.broken", 1),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_opens_one_notification(
    cause: Callable[[Account], None], acme: Account, rival: Account, admin: Client
) -> None:
    cause(acme)
    kind, times = CAUSES[cause]
    assert (kind, times, True) in rows(acme)
    assert len(rows(acme, kind=kind)) == 1
    assert rows(rival) == []
    refresh_notifications()
    assert [row[2] for row in rows(acme, kind=kind)] == [True], "it still needs attention"
    list_page = admin.get("/notifications/", {"kind": kind}).content.decode()
    [link] = re.findall(r'<a href="(/notifications/[0-9a-f-]+/)"', list_page)
    assert admin.get(link, follow=True).status_code == 200
    assert (
        'class="unread"' not in admin.get("/notifications/").content.decode().split(link)[0][-400:]
    )


def test_resolved_notifications_close_and_open_again(acme: Account) -> None:
    propose(acme, "Tea is served at four.", "The kiln needs new bricks.")
    settle()
    with acting(acme):
        notify(acme.pk, LEDGER_BROKEN, ROWS)
    [rejected] = propose(acme, "Soup is served at noon.")
    settle()
    with acting(acme):
        reject(makers.decision(rejected))
    refresh_notifications()
    assert rows(acme) == [("ledger.broken", 1, False), ("proposals.waiting", 2, True)]
    with acting(acme):
        notify(acme.pk, LEDGER_BROKEN, ROWS)
    assert len(rows(acme, kind="ledger.broken")) == 2
    past = datetime.now(UTC) - timedelta(days=40)
    makers.update(Notification, acme, {"kind": "ledger.broken"}, closed_at=past)
    refresh_notifications()
    assert rows(acme) == [("proposals.waiting", 2, True)]


# --- Webhooks -------------------------------------------------------------------------------------


def test_slack_gets_signed_and_escaped_messages_once(acme: Account, settings: Settings) -> None:
    agent = makers.agent(acme)
    with receive_webhooks() as receiver:
        settings.WEBHOOK_PRIVATE = [receiver.netloc]
        body = {"name": "Slack", "url": receiver.url, "payload_format": "slack"}
        types = ["job.failed", "memory.added"]
        secret = agent.post("webhooks", {**body, "event_types": types}, 201)["secret"]
        agent.post("memory/store", {"text": "<!channel> a & b", "user_id": "ann"}, 201)
        fail_jobs(acme)
        fail_jobs(acme)
        settle()
    added, failed = sorted(receiver.bodies(), key=lambda each: "background" in each["text"])
    assert added["text"] == "A memory can now be recalled: &lt;!channel&gt; a &amp; b"
    section, context = failed["blocks"]
    assert section["text"]["type"] == "mrkdwn"
    assert f"2 background jobs failed\n{FAILING}" in section["text"]["text"]
    assert f"/operations/?account={acme.pk}|kmapp>" in context["elements"][0]["text"]
    assert secret.startswith("whsec_")
    assert receiver.requests[-1][0]["webhook-signature"].startswith("v1,")
