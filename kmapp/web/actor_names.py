"""Names of actors: the ledger knows them by id only."""

from collections.abc import Iterable
from uuid import UUID

from django.utils.translation import gettext as _

from kmapp.accounts.acting import current_account_id
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import ApiKey, User


def names_of(actors: Iterable[str]) -> dict[str, str]:
    """What to call each actor, with two queries for all of them. Use inside `acting`."""
    words = set(actors)
    parsed = {word: Actor.parse(word) for word in words}
    people = _ids(parsed, "user")
    keys = _ids(parsed, "key")
    account_id = current_account_id()
    users = {u.pk: u.get_full_name() or u.email for u in User.objects.filter(pk__in=people)}
    named = (
        dict(ApiKey.objects.of(account_id).filter(pk__in=keys).values_list("pk", "name"))
        if account_id
        else {}
    )
    return {word: _name(actor, users, named) for word, actor in parsed.items()}


def _ids(parsed: dict[str, Actor], kind: str) -> list[UUID]:
    return [actor.id for actor in parsed.values() if actor.kind == kind and actor.id]


def _name(actor: Actor, users: dict[UUID, str], keys: dict[UUID, str]) -> str:
    if actor.id is None:
        return _("kmapp itself")
    known = users if actor.kind == "user" else keys
    return known.get(actor.id) or _("somebody who is gone")
