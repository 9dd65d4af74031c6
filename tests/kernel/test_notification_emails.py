"""E-mails about notifications: digests, urgent messages, and unsubscribing."""

from datetime import UTC, datetime, timedelta
from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import Client

from kmapp.accounts.account_administration import archive_account
from kmapp.accounts.acting import acting
from kmapp.accounts.actions import remove_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, Membership, User
from kmapp.notifications.actions import save_settings
from kmapp.notifications.digests import find_last_due
from kmapp.notifications.kinds import Email
from kmapp.notifications.models import NotificationSettings
from kmapp.notifications.tasks import refresh_notifications
from kmapp.outbox.models import Delivery
from tests import makers
from tests.kernel.notification_causes import FAILING, break_ledger, fail_jobs, propose_two, settle

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("now", "weekly", "due"),
    [
        ("2026-03-28 07:30", False, "2026-03-28 07:00"),  # 08:30 in Berlin, in winter
        ("2026-03-29 05:59", False, "2026-03-28 07:00"),
        ("2026-03-29 06:00", False, "2026-03-29 06:00"),  # summer time has begun
        ("2026-03-29 06:00", True, "2026-03-23 07:00"),
        ("2026-03-30 06:00", True, "2026-03-30 06:00"),
    ],
)
def test_digests_are_due_by_the_clock_on_the_wall(now: str, weekly: bool, due: str) -> None:  # noqa: FBT001
    moment, expected = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (now, due))
    assert find_last_due(moment, ZoneInfo("Europe/Berlin"), 8, weekly=weekly) == expected


def make_due(account: Account, user: User, **values: Any) -> None:
    """Make the digest of a user due; by default, the last one was sent two days ago."""
    with acting(account):
        before = datetime.now(UTC) - timedelta(days=2)
        save_settings(account.pk, user, {"digest_at": before, **values})


@pytest.mark.parametrize(
    ("language", "subject", "greeting"),
    [
        ("en", "[kmapp] Acme: 2 new notifications", "Hello Ada,"),
        ("zh-hans", "[kmapp] Acme：2 条新通知", "Ada，您好："),
    ],
)
def test_digest_is_sent_once_in_the_persons_language_and_zone(  # noqa: PLR0917
    acme: Account,
    rival: Account,
    ada: User,
    alice: User,
    language: str,
    subject: str,
    greeting: str,
) -> None:
    User.objects.filter(pk=ada.pk).update(language=language, time_zone="Asia/Tokyo")
    makers.member(rival, "eve", role="admin")
    propose_two(acme)
    fail_jobs(acme)
    make_due(acme, ada)
    for _ in range(2):
        refresh_notifications()  # a period has one digest, however often the job runs
        settle()
    [to_ada] = [each for each in mail.outbox if each.to == [ada.email]]
    assert to_ada.subject == subject
    body = str(to_ada.body)
    assert greeting in body
    assert FAILING in body
    assert ("JST" in body, "kiln" in body) == (True, False)
    assert to_ada.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert len(mail.outbox) == 1, "alice's digest is not due, and eve is in another account"


def test_digest_follows_permission_choice_membership_and_archive(
    acme: Account, rival: Account, ada: User, alice: User
) -> None:
    fail_jobs(acme)
    make_due(acme, alice)  # an editor sees no failed jobs
    make_due(acme, ada, email={"job.failed": Email.NEVER})
    assert refresh_notifications() == 0
    propose_two(acme)
    for user in (ada, alice):
        make_due(acme, user)
    assert refresh_notifications() == 2
    with acting(acme):  # after the digest was enqueued
        remove_member(Membership.objects.get(user=alice), actor=SYSTEM)
    settle()
    assert [each.to for each in mail.outbox] == [[ada.email]]
    archive_account(acme.pk, actor=SYSTEM)
    make_due(acme, ada)
    assert refresh_notifications() == 0


def test_broken_ledger_reaches_people_at_once_while_the_account_is_read_only(
    acme: Account, ada: User, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_ledger(acme)
    sent, attempts = EmailBackend.send_messages, []

    def disconnect_once(self: EmailBackend, messages: Any) -> int:
        attempts.append(messages[0])
        if len(attempts) == 1:
            raise SMTPServerDisconnected("Connection unexpectedly closed")
        return int(sent(self, messages) or 0)

    monkeypatch.setattr(EmailBackend, "send_messages", disconnect_once)
    settle()
    makers.update(Delivery, acme, {"reason": "mail_server"}, due_at=datetime.now(UTC))
    settle()
    [message] = mail.outbox
    assert message.to == [ada.email]
    assert "signed" in message.subject
    first, second = (each.extra_headers["Message-ID"] for each in attempts)
    assert first == second, "mail servers can drop a repetition"


@pytest.mark.parametrize("code", [450, 550])
def test_an_address_that_is_refused_for_now_is_tried_again(
    acme: Account, ada: User, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: Any) -> None:
        raise SMTPRecipientsRefused({ada.email: (code, b"Try again later.")})

    break_ledger(acme)
    monkeypatch.setattr(EmailBackend, "send_messages", refuse)
    settle()
    delivery = makers.get(Delivery, acme, handler="kmapp.notifications.send_email")
    assert (delivery.attempts, delivery.failed_at is not None) == (1, code == 550)
    assert ada.email not in delivery.last_error


def test_one_click_unsubscribes_without_a_session(acme: Account, ada: User) -> None:
    fail_jobs(acme)
    make_due(acme, ada)
    refresh_notifications()
    settle()
    link = mail.outbox[0].extra_headers["List-Unsubscribe"].strip("<>")
    path, anyone = urlsplit(link).path, Client(enforce_csrf_checks=True)
    assert "Acme" in anyone.get(path).content.decode()
    assert makers.get(NotificationSettings, acme).sends_email, "opening the link changes nothing"
    assert anyone.post(f"{path[:-2]}x/").status_code == 404
    answer = anyone.post(path, {"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200
    assert not makers.get(NotificationSettings, acme).sends_email
    make_due(acme, ada)
    assert refresh_notifications() == 0
