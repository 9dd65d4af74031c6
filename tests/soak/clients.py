"""All clients of the deployment, in two accounts."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tests.soak.deployment import Deployment
from tests.soak.workers import (
    BATCH,
    ENTRIES,
    Eraser,
    HttpClient,
    Importer,
    Reader,
    Reviewer,
    RuleEditor,
    Worker,
    Writer,
)

if TYPE_CHECKING:
    from kmapp.accounts.models import User

TOKEN = "t" * 64
WRITERS = {"Main": 2, "Rival": 1}  # and the same number of readers
SCOPES = (
    *("memory:read", "memory:write", "memory:erase"),
    *("rules:read", "rules:write", "rules:override"),
)
QUOTAS = {"open_proposals": 1_000_000, "daily_writes": 1_000_000}
# Mean seconds between two turns of a client at rate x1; `describe_day` states what that is. At rate
# x10 a day takes 144 minutes, and less than the embedder of two idle cores can embed in this time.
WRITER_PAUSE, READER_PAUSE, REVIEWER_PAUSE, IMPORTER_PAUSE = 24.0, 6.0, 18.0, 540.0
ERASER_PAUSE, RULE_PAUSE = 90.0, 60.0
DAY = 86_400  # seconds


def describe_day() -> str:
    """State the intended load of one day at rate x1."""
    writers = sum(WRITERS.values())
    memories = DAY * (
        writers * BATCH / WRITER_PAUSE
        + len(WRITERS) * BATCH / ERASER_PAUSE
        + ENTRIES / IMPORTER_PAUSE
    )
    searches = DAY * writers / READER_PAUSE
    return (
        f"At rate x1 clients write {memories:,.0f} memories, search {searches:,.0f} times, "
        f"review {DAY / REVIEWER_PAUSE:,.0f} proposals, erase "
        f"{DAY * len(WRITERS) / ERASER_PAUSE:,.0f} users and create "
        f"{DAY * len(WRITERS) / RULE_PAUSE:,.0f} rules a day."
    )


@dataclass(frozen=True, kw_only=True)
class SoakClients:
    accounts: Mapping[str, str]  # ids by the tag that every text of the account begins with
    writers: Sequence[Writer]
    readers: Sequence[Reader]
    reviewer: Reviewer
    importer: Importer
    erasers: Sequence[Eraser]
    rule_editors: Sequence[RuleEditor]

    @property
    def everybody(self) -> Sequence[Worker]:
        several = [*self.writers, *self.readers, *self.erasers, *self.rule_editors]
        return [*several, self.reviewer, self.importer]

    @property
    def answers(self) -> Counter[int]:
        return sum((each.client.answers for each in self.everybody), Counter[int]())

    def count_turns(self) -> int:
        return sum(each.turns for each in self.everybody)

    def count_possible_turns(self, seconds: float) -> int:
        """Return the turns of clients that get each response at once."""
        return round(sum(seconds / each.pause for each in self.everybody))

    @property
    def wrong(self) -> Sequence[str]:
        """Violations that clients noticed."""
        return [text for each in self.everybody for text in each.wrong]


@contextmanager
def create_clients(there: Deployment, folder: Path, rate: float = 1) -> Iterator[SoakClients]:
    """Create accounts, keys and a session; `folder` is for the files of the importer.

    Clients pause `rate` times shorter between their requests.
    """
    os.environ |= there.environment
    django.setup()
    # These imports need the settings.
    from django.db import connections

    from kmapp.accounts.acting import acting
    from kmapp.accounts.actors import SYSTEM
    from kmapp.management.account_lookup import get_account
    from memory.actions.settings import update_policy
    from tests import makers

    accounts = {"Main": get_account("main"), "Rival": makers.account("Rival")}
    writers, readers, rule_editors, erasers = [], [], [], []
    for tag, account in accounts.items():
        with acting(account):  # the reviewer approves fewer proposals than arrive
            update_policy(account.pk, QUOTAS, actor=SYSTEM)
        key = makers.key(account, SCOPES)[1]
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        client = HttpClient(there.port, headers)
        rule_editors.append(RuleEditor(f"rules-{tag.lower()}", tag, client, RULE_PAUSE / rate))
        client = HttpClient(there.port, headers)
        erasers.append(Eraser(f"eraser-{tag.lower()}", tag, client, ERASER_PAUSE / rate))
        for number in range(WRITERS[tag]):
            name = f"{tag.lower()}-{number}"
            client = HttpClient(there.port, headers)
            writers.append(Writer(f"w-{name}", tag, client, WRITER_PAUSE / rate))
            client = HttpClient(there.port, headers)
            readers.append(
                Reader(f"r-{name}", tag, client, READER_PAUSE / rate, writer=writers[-1])
            )
    person = makers.member(accounts["Main"], "reviewer", role="editor")
    session = HttpClient(there.port, _session_headers(person))
    commands = HttpClient(there.port, {})
    yield SoakClients(
        accounts={tag: str(account.pk) for tag, account in accounts.items()},
        writers=writers,
        readers=readers,
        reviewer=Reviewer("reviewer", "Main", session, REVIEWER_PAUSE / rate),
        importer=Importer(
            "importer", "Main", commands, IMPORTER_PAUSE / rate, deployment=there, folder=folder
        ),
        erasers=erasers,
        rule_editors=rule_editors,
    )
    connections.close_all()


def _session_headers(person: "User") -> Mapping[str, str]:
    """Return the headers of a browser in which this user has signed in."""
    from django.conf import settings
    from django.test import Client

    browser = Client()
    browser.force_login(person)
    session = browser.cookies[settings.SESSION_COOKIE_NAME].value
    return {
        "Cookie": f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={TOKEN}",
        "X-CSRFToken": TOKEN,
        "Content-Type": "application/x-www-form-urlencoded",
    }
