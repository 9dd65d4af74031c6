"""How an account wants its rules handled: the gate, and whether a second person approves."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.errors import Conflict
from kmapp.ledger.actions import recording
from rules.models import RuleBook

CHANGEABLE = ("min_seen", "min_changed", "max_against", "second_person")


def change_book(account_id: UUID, values: Mapping[str, Any], *, actor: Actor) -> RuleBook:
    try:
        with transaction.atomic(), recording(account_id, actor) as commit:
            known = RuleBook.objects.of(account_id).select_for_update().first()
            book = known or RuleBook(account_id=account_id)
            for name in CHANGEABLE:
                setattr(book, name, values.get(name, getattr(book, name)))
            book.commit_id = commit.id
            if known:
                book.save(update_fields=[*CHANGEABLE, "commit"])
            else:
                book.save(force_insert=True)
            commit.add(book, "UPDATE" if known else "ADD")
    except IntegrityError as error:
        raise Conflict(_("Somebody changed this first. Try again.")) from error
    return book
