"""The bell, the list of notifications, and the settings of a person."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.notifications.actions import notify
from kmapp.notifications.kernel_kinds import JOB_FAILED, LEDGER_BROKEN, ROWS
from kmapp.notifications.kinds import list_kinds
from kmapp.notifications.models import Notification, NotificationRead, NotificationSettings
from kmapp.notifications.recipients import list_recipients
from memory.actions.notification_kinds import CONTRADICTION, PROPOSALS_WAITING
from memory.models import Finding
from tests import makers
from tests.makers import missing
from tests.web.pages import HTMX, page
from tests.web.proposals import propose

pytestmark = pytest.mark.django_db
BELL = re.compile(r'class="bell".*?(?:<span class="count">(\d+\+?)<|</a>)', re.DOTALL)
LIST = "/notifications/"


def unread(client: Client) -> str:
    """Return the number beside the bell."""
    [number] = BELL.findall(page(client.get("/connect/")))
    return str(number)


def raise_three(account: Account) -> None:
    """Raise one kind that reviewers see, and two that only admins see."""
    propose(account, "Tea is served at four.")
    with acting(account):
        for kind, subject in (
            (PROPOSALS_WAITING, ""),
            (JOB_FAILED, "embed"),
            (LEDGER_BROKEN, ROWS),
        ):
            notify(account.pk, kind, subject)


def test_bell_counts_what_this_person_may_see_and_has_not_read(
    acme: Account, rival: Account, admin: Client, reviewer: Client
) -> None:
    raise_three(acme)
    raise_three(rival)
    assert (unread(admin), unread(reviewer)) == ("3", "1")
    viewer = makers.signed_in(makers.member(acme, "vera", role="viewer"))
    assert unread(viewer) == ""
    assert "No notifications for your role" in page(viewer.get(f"{LIST}settings/"))
    row = makers.get(Notification, acme, kind="proposals.waiting")
    opened = admin.get(f"{LIST}{row.pk}/")
    assert opened.headers["Location"] == "/review/"
    assert (unread(admin), unread(reviewer)) == ("2", "1")
    job = makers.get(Notification, acme, kind="job.failed")
    assert reviewer.post(f"{LIST}{job.pk}/read/").status_code == 404
    assert admin.post(f"{LIST}{job.pk}/read/", {"next": LIST}).headers["Location"] == LIST
    assert unread(admin) == "1"
    with acting(acme):
        notify(acme.pk, JOB_FAILED, "embed")  # it happens again
    assert unread(admin) == "2"
    with CaptureQueriesContext(connection) as captured:
        admin.get("/connect/")
    [counting] = [each["sql"] for each in captured if "AS counted" in each["sql"]]
    assert counting.count("AS counted") == 3  # proposals, failed jobs and notifications


def test_all_are_read_up_to_what_the_page_showed(acme: Account, admin: Client) -> None:
    raise_three(acme)
    page_text = page(admin.get(LIST))
    [until] = re.findall(r'name="until" value="([^"]+)"', page_text)
    with acting(acme):
        notify(acme.pk, JOB_FAILED, "another")
    admin.post(f"{LIST}read/", {"until": until})
    assert unread(admin) == "1"
    assert makers.count(NotificationRead, acme) == 0
    admin.post(f"{LIST}read/", {"until": "nonsense"})
    assert unread(admin) == ""
    assert "Mark all as read" not in page(admin.get(LIST))


def test_earliest_time_stops_no_notifications(acme: Account, admin: Client, ada: User) -> None:
    raise_three(acme)
    form = {"until": "0001-01-01T00:00:00+14:00"}
    assert admin.post(f"{LIST}read/", form).status_code == 302
    assert unread(admin) == "3"
    assert "Save" in page(admin.get(f"{LIST}settings/"))
    with acting(acme):
        assert ada.pk in {each.user.pk for each in list_recipients(acme.pk)}


def test_list_is_filtered_and_shows_what_is_resolved(acme: Account, admin: Client) -> None:
    assert "Nothing needs your attention" in page(admin.get(LIST))
    raise_three(acme)
    everything = page(admin.get(LIST))
    assert missing(everything, "1 proposal needs review") == []
    # Nothing is wrong with the ledger, and no job failed: both are resolved.
    assert everything.count("Resolved") >= 2
    part = page(admin.get(LIST, {"kind": "proposals.waiting"}, headers=HTMX))
    assert (part.count("<li"), "<html" in part) == (1, False)
    makers.update(Notification, acme, {"kind": "job.failed"}, closed_at="2026-01-01T00:00Z")
    assert "1 background job failed" in page(admin.get(LIST, {"state": "resolved"}))
    assert "No matching notifications" in page(
        admin.get(LIST, {"state": "resolved", "kind": "ledger.broken"})
    )


def test_person_chooses_pages_and_emails(acme: Account, admin: Client, ada: User) -> None:
    raise_three(acme)
    path = f"{LIST}settings/"
    page_text = page(admin.get(path))
    assert missing(page_text, "The ledger is broken", "Every Monday", ada.email) == []
    chosen = {f"email-{kind.name}": kind.email for kind in list_kinds()}
    form = {**chosen, "sends_email": "on", "digest": "weekly", "hour": "17"}
    form |= {"page-job.failed": "on", "email-job.failed": "never"}
    assert admin.post(path, form).status_code == 302
    row = makers.get(NotificationSettings, acme)
    assert (row.digest, row.hour, row.email) == ("weekly", 17, {"job.failed": "never"})
    assert unread(admin) == "1", "only failed jobs are shown on pages"
    assert page(admin.post(path, {**form, "hour": "24"}), 422)


def test_page_names_a_contradicting_proposal_without_a_title(acme: Account, admin: Client) -> None:
    first, second = propose(acme, "The tea room opens at nine.", "The tea room opens at ten.")
    with acting(acme):
        Finding.objects.create(
            account_id=acme.pk,
            entry=second,
            other=first,
            kind=Finding.Kind.CONTRADICTION,
            score=0.9,
        )
        notify(acme.pk, CONTRADICTION, str(second.pk))
        [subject] = CONTRADICTION.load(acme.pk, [str(second.pk)]).values()
    assert "The tea room opens at ten." in page(admin.get(f"{LIST}?kind=contradiction.found"))
    assert subject.title == "", "e-mails and webhooks have the title only"
