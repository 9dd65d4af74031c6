"""Display names of actors, which the ledger stores by id."""

from collections.abc import Iterable
from uuid import UUID

from django.utils.translation import gettext as _

from kmapp.accounts.acting import current_account_id
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import ApiKey, User


def list_actor_names(actors: Iterable[str]) -> dict[str, str]:
    """Return the display name of each actor, with two queries in all. Inside `acting`.

    A text that is not an actor, which only a manual edit of the database can cause, is returned as
    it is.
    """
    words = set(actors)
    parsed = {word: actor for word in words if (actor := _parse_actor(word))}
    people = _list_ids(parsed, "user")
    keys = _list_ids(parsed, "key")
    account_id = current_account_id()
    users = {u.pk: u.get_full_name() or u.email for u in User.objects.filter(pk__in=people)}
    key_names = (
        dict(ApiKey.objects.of(account_id).filter(pk__in=keys).values_list("pk", "name"))
        if account_id
        else {}
    )
    names = {word: _display_name(actor, users, key_names) for word, actor in parsed.items()}
    return {word: names.get(word, word) for word in words}


def _parse_actor(word: str) -> Actor | None:
    try:
        return Actor.parse(word)
    except ValueError:
        return None


def _list_ids(parsed: dict[str, Actor], kind: str) -> list[UUID]:
    return [actor.id for actor in parsed.values() if actor.kind == kind and actor.id]


def _display_name(actor: Actor, users: dict[UUID, str], keys: dict[UUID, str]) -> str:
    if actor.id is None:
        return _("kmapp (system)")
    names = users if actor.kind == "user" else keys
    return names.get(actor.id) or _("Former user")
