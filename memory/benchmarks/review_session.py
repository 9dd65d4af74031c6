"""A simulated reviewer: server time per decision and queries per page."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import connection
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import Account, Membership, User
from kmapp.database.ids import uuid7
from kmapp.management.benchmark import Times
from memory.actions.proposal_findings import triage_entries
from memory.actions.write_entries import write_batch
from memory.benchmarks.synthetic_entries import Writer
from memory.models.entry_input import Batch, NewEntry

HTMX = {"HX-Request": "true", "HX-Current-URL": "http://localhost/review/"}
IN_HAND = re.compile(r'id="waits-([0-9a-f-]{36})"[^>]*aria-current')
VERSION = re.compile(r'name="version" value="(\d+)"')
WRONG = 400  # lowest status of an error


@dataclass(kw_only=True)
class ReviewSessionTimes:
    """Timings and query counts of a review session."""

    page_times: Times = field(default_factory=Times)  # the whole page
    decisions: Times = field(default_factory=Times)  # a decision and the next proposal
    queries: list[int] = field(default_factory=list)  # of each page


def measure_review_session(account: Account, number: int) -> ReviewSessionTimes:
    """Propose `number` texts, and decide on each of them as a browser does."""
    _propose(account, number)
    figures, client = ReviewSessionTimes(), _reviewer(account)
    answer = _text(client.get("/review/"))
    for turn in range(number):
        pk, version = IN_HAND.findall(answer)[0], VERSION.findall(answer)[0]
        operation = "reject" if turn % 5 == 0 else "approve"
        with figures.decisions.timed():
            answer = _text(
                client.post(f"/review/{pk}/{operation}/", {"version": version}, headers=HTMX)
            )
        if turn % 10 == 0:
            with figures.page_times.timed(), _counted(figures.queries):
                _text(client.get("/review/"))
    return figures


def format_figures(figures: ReviewSessionTimes) -> str:
    return (
        f"{len(figures.decisions.ms)} decisions: median {figures.decisions.p50:.1f} ms, "
        f"p95 {figures.decisions.p95:.1f} ms; a page: median {figures.page_times.p50:.1f} ms, "
        f"at most {max(figures.queries)} queries."
    )


def _propose(account: Account, number: int) -> None:
    writer = Writer(np.random.default_rng(11))
    drafts = [NewEntry(text=text, visibility="account") for text in writer.texts(number)]
    with acting(account):
        agent = Actor("key", uuid7())
        written = write_batch(account_id=account.pk, actor=agent, batch=Batch(entries=drafts))
    for entry in written.entries:
        triage_entries(account.pk, [entry.pk])


def _reviewer(account: Account) -> Client:
    name = f"reviewer-{uuid7().hex[-12:]}"
    user = User.objects.create_user(username=name, email=f"{name}@example.invalid")
    with acting(account):
        add_member(account_id=account.pk, user=user, role=Membership.Role.REVIEWER, actor=SYSTEM)
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    return client


@contextmanager
def _counted(into: list[int]) -> Iterator[None]:
    number = 0

    def count(execute: Any, *rest: Any) -> Any:
        nonlocal number
        number += 1
        return execute(*rest)

    with connection.execute_wrapper(count):
        yield
    into.append(number)


def _text(answer: Any) -> str:
    if answer.status_code >= WRONG:
        raise RuntimeError(answer.content.decode())
    return str(answer.content.decode())
