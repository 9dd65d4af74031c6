"""State for tests, created with the product's own actions."""

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, TypeVar

from django.core.management import call_command
from django.db import connection
from django.db.models import Manager, Model
from django.test import Client
from rest_framework.test import APIClient

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member, create_account, issue_key
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.company_sign_in.actions import find_company_sign_in, save_company_sign_in
from kmapp.accounts.company_sign_in.admission import connect_identity
from kmapp.accounts.company_sign_in.models import CompanyIdentity
from kmapp.accounts.invitations import invite
from kmapp.accounts.models import Account, ApiKey, Invitation, User, account_ids
from kmapp.ledger.actions import recording
from kmapp.notifications.webhooks.actions import create_webhook, update_webhook
from kmapp.notifications.webhooks.models import Webhook
from kmapp.outbox.deliver import deliver_due, paused_until
from kmapp.outbox.models import Delivery
from kmapp.outbox.registry import QUEUES
from kmapp.search.signal_weights import LEARNED_WEIGHTS
from memory.actions.judgements import NewJudgement, store_judgements
from memory.actions.review import Decision
from memory.actions.settings import update_policy
from memory.actions.write_entries import write_batch
from memory.models import MemoryEntry, Ranking, RankingComparison
from memory.models.entry_input import Batch, EdgeEnd, NewEdge, NewEntry
from tests.agent import Agent

M = TypeVar("M", bound=Model)
PASSWORD = "correct horse battery"


def account(name: str, slug: str = "") -> Account:
    return create_account(name=name, slug=slug)


def member(account: Account, name: str, *, role: str, login: str = "") -> User:
    login = login or name
    user = User.objects.create_user(
        username=login, email=f"{login}@example.test", password=PASSWORD, first_name=name.title()
    )
    with acting(account):
        add_member(account_id=account.pk, user=user, role=role, actor=SYSTEM)
    return user


def key(account: Account, scopes: Sequence[str] = ("admin",), **more: Any) -> tuple[ApiKey, str]:
    with acting(account):
        issued = issue_key(
            account_id=account.pk, name="test key", scopes=scopes, actor=SYSTEM, **more
        )
    return issued.key, issued.secret


def agent(account: Account, scopes: Sequence[str] = ("admin",)) -> Agent:
    return Agent(APIClient(headers={"authorization": f"Bearer {key(account, scopes)[1]}"}))


def webhook(account: Account, name: str) -> Webhook:
    """Create a webhook that sends nothing."""
    with acting(account):
        created = create_webhook(
            account_id=account.pk,
            name=name,
            url=f"https://hooks.test/{name}",
            event_types=["memory.added"],
            actor=SYSTEM,
        )
        pk = created.webhook.pk
        return update_webhook(account.pk, pk, {"is_active": False}, actor=SYSTEM)


def invitation(account: Account, email: str, *, role: str = "reviewer") -> Invitation:
    with acting(account):
        return invite(account_id=account.pk, email=email, role=role, language="en", actor=SYSTEM)


def company_sign_in(account: Account, user: User, subject: str) -> CompanyIdentity:
    """Set up a provider for the account, and connect a login with its subject."""
    values = {
        "name": f"Company {subject}",
        "issuer": f"https://login.test/{subject}",
        "client_id": subject,
        "email_domains": ["example.test"],
        "role_by_group": {subject: "reviewer"},
    }
    with acting(account):
        row = find_company_sign_in(account.pk) or save_company_sign_in(
            account.pk, values, client_secret=subject, actor=SYSTEM
        )
        return connect_identity(row, subject, user, by_person=True)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def write(
    account: Account,
    *entries: NewEntry | str,
    edges: Sequence[NewEdge] = (),
    actor: Actor = SYSTEM,
    **values: Any,
) -> list[MemoryEntry]:
    """Write memories in one commit. A text becomes an entry with these values."""
    new = [NewEntry(text=each, **values) if isinstance(each, str) else each for each in entries]
    batch = Batch(entries=new, edges=list(edges))
    with acting(account):
        return list(write_batch(account_id=account.pk, actor=actor, batch=batch).entries)


def learned_ranking(entry: MemoryEntry, **values: Any) -> Ranking:
    """Create a ranking in shadow, with one judgement about a memory and one comparison."""
    account_id, question = entry.account_id, f"Where is {entry.content}"
    weights = dict.fromkeys(LEARNED_WEIGHTS, 1 / len(LEARNED_WEIGHTS))
    status = {"status": "shadow", "shadowed_at": entry.created_at, "number": 1} | values
    with acting(account_id), recording(account_id, SYSTEM) as commit:
        ranking = Ranking.objects.create(
            account_id=account_id,
            commit_id=commit.id,
            weights=weights,
            created_by="system",
            created_at=entry.created_at,
            **status,
        )
        commit.add(ranking, "ADD")
        RankingComparison.objects.create(
            account_id=account_id,
            ranking=ranking,
            origin="held_out",
            question=question,
            before=[entry.pk],
            relevant=[entry.pk],
            created_at=entry.created_at,
        )
        new = NewJudgement(question=question, entry_id=entry.pk, label="relevant")
        store_judgements(account_id, SYSTEM, [new], "person")
    return ranking


def edge(kind: str, src: str, dst: str) -> NewEdge:
    """Return an edge between entries with these client ids."""
    return NewEdge(type=kind, src=EdgeEnd(client_id=src), dst=EdgeEnd(client_id=dst))


def decision(entry: MemoryEntry, **more: Any) -> Decision:
    return Decision(account_id=entry.account_id, entry_id=entry.pk, actor=SYSTEM, **more)


def reload(entry: MemoryEntry) -> MemoryEntry:
    with acting(entry.account_id):
        return MemoryEntry.objects.get(pk=entry.pk)


def manager_of(model: type[M]) -> "Manager[M]":
    manager: Manager[M] | None = model._meta.default_manager
    assert manager
    return manager


def rows(model: type[M], account: Account, **conditions: Any) -> list[M]:
    with acting(account):
        return list(manager_of(model).filter(**conditions))


def get(model: type[M], account: Account, **conditions: Any) -> M:
    with acting(account):
        return manager_of(model).get(**conditions)


def count(model: type[Model], account: Account, **conditions: Any) -> int:
    return len(rows(model, account, **conditions))


def update(
    model: type[Model], account: Account, conditions: Mapping[str, Any], **values: Any
) -> None:
    with acting(account):
        manager_of(model).filter(**conditions).update(**values)


def set_policy(account: Account, values: Mapping[str, Any]) -> None:
    with acting(account):
        update_policy(account.pk, values, actor=SYSTEM)


def missing(text: str, *parts: str) -> list[str]:
    """Return the parts that the text does not contain."""
    return [part for part in parts if part not in text]


def settle(seconds: float = 60) -> int:
    """Run due jobs in this process; none may fail. Return their number."""
    paused_until.clear()
    tried = sum(deliver_due(queue, seconds=seconds) for queue in QUEUES)
    for account_id in account_ids():
        with acting(account_id):
            errors = Delivery.objects.of(account_id).exclude(last_error="")
            assert not errors.exists(), list(errors.values_list("handler", "last_error"))
    return tried


def explain(account: Account, sql: str, *avoided: str) -> str:
    """Return the plan of a statement without scans, or what else is cheap over so few rows."""
    with acting(account), connection.cursor() as cursor:
        for kind in avoided or ("seqscan",):
            cursor.execute(f"SET LOCAL enable_{kind} = off")
        cursor.execute("EXPLAIN " + sql)
        return "\n".join(row[0] for row in cursor.fetchall())


def run_command(name: str, *words: Any, **options: Any) -> str:
    """Run a management command; return what it prints."""
    out = StringIO()
    call_command(name, *map(str, words), stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def check_ledger() -> None:
    """Raise CommandError if fsck reports a problem."""
    run_command("fsck")
