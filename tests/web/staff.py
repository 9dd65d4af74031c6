"""Staff at the stock admin, and rows of every kind for them to see."""

from typing import Any

from django.apps import apps
from django.db.models import Model
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from kmapp.api.models import IdempotentRequest
from kmapp.ledger.models import Checkpoint
from kmapp.search.models import TermPosting
from memory.actions.entries import write
from memory.drafts import Batch, End, NewEdge, NewEntry
from memory.models import ErasedEntry, MemoryEntry
from tests import makers

OURS = ("kmapp", "memory", "knowledge", "rules", "context")
MODELS = [
    model
    for model in apps.get_models()
    if model.__module__.partition(".")[0] in OURS and model is not TermPosting
]


def staff(account: Account, name: str, *, role: str = "admin") -> User:
    user = makers.member(account, name, role=role)
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    return user


def fill(account: Account, number: int = 2) -> list[MemoryEntry]:
    """Rows of every kind, as many as that."""
    drafts = [
        NewEntry(text=f"{account.name} keeps thing {i}.", client_id=f"c{i}") for i in range(number)
    ]
    edges = [
        NewEdge(type="related_to", src=End(client_id=f"c{i}"), dst=End(client_id=f"c{i - 1}"))
        for i in range(1, number)
    ]
    with acting(account):
        key = makers.key(account)[0]
        written = write(
            account_id=account.pk,
            actor=SYSTEM,
            batch=Batch(entries=drafts, edges=edges, input="said", reason="told"),
        )
        for i, entry in enumerate(written.entries):
            common: dict[str, Any] = {"account": account}
            ErasedEntry.objects.create(
                erased_at=timezone.now(), commit_id=entry.commit_id, **common
            )
            Checkpoint.objects.create(
                seq=i, commit_hash="0" * 64, created_at=timezone.now(), key_id="k", **common
            )
            IdempotentRequest.objects.create(
                key_id=key.pk,
                idempotency_key=str(entry.pk),
                fingerprint="f",
                lease_token=entry.pk,
                lease_until=timezone.now(),
                expires_at=timezone.now(),
                **common,
            )
    return list(written.entries)


def address(model: type[Model], tail: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{tail}"


def page(answer: Any) -> str:
    return str(answer.content.decode())
