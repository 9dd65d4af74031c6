"""`manage.py doctor` reports a clock that is wrong, and one that was."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from kmapp.accounts.models import Account
from kmapp.database.steady_clock import MAX_CLOCK_DRIFT, advance_clock
from kmapp.management.doctor.clock import check_clock, check_clock_steps
from tests import makers
from tests.kernel.test_clock_steps import step_clock
from tests.kernel.test_doctor import run

pytestmark = pytest.mark.django_db


def test_clock_of_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(check_clock)[0].startswith("OK")
    now = time.time()
    for ahead, level in ((20, "WARNING"), (-3600, "ERROR")):
        monkeypatch.setattr("time.time", lambda ahead=ahead: now + ahead)
        assert run(check_clock)[0].startswith(level)


def test_commit_of_a_clock_that_was_ahead(
    acme: Account, rival: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    for account in (acme, rival):
        makers.write(account, "Tea at nine.")
    assert run(check_clock_steps) == ["OK none"]
    later = timezone.now() + timedelta(hours=3)
    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", lambda: later)
        makers.write(acme, "Coffee at ten.")
    [finding] = run(check_clock_steps)
    assert finding.startswith("WARNING the newest commit is 2 hours in the future")


def test_step_forward_that_deletions_do_not_follow() -> None:
    advance_clock()
    step_clock(MAX_CLOCK_DRIFT / 2)
    assert run(check_clock_steps) == ["OK none"]
    step_clock(timedelta(days=365))
    advance_clock()
    [finding] = run(check_clock_steps)
    assert finding.startswith("WARNING the time for deletions by age is 365 days behind")
