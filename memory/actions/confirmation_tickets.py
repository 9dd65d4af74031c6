"""Signed tickets that confirm an operation on exactly the memories that were counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from uuid import UUID

from django.core import signing
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.errors import Conflict, Invalid

TICKET_LIFETIME = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """An operation on exactly these memories by one actor."""

    operation: str
    account_id: UUID
    actor: Actor
    ids: Sequence[UUID]  # in their order
    person: str = ""  # set if the operation covers all data of one person

    @property
    def ticket(self) -> str:
        return signing.dumps(self._signed_fields, salt=self.operation)

    @property
    def _signed_fields(self) -> list[str]:
        named = sha256("".join([self.person, *map(str, self.ids)]).encode()).hexdigest()
        return [str(self.account_id), str(self.actor), named]

    def verify(self, ticket: str) -> None:
        """Raise Invalid or Conflict unless the ticket confirms this operation."""
        try:
            payload = signing.loads(ticket, salt=self.operation, max_age=TICKET_LIFETIME)
        except signing.SignatureExpired as error:
            raise Conflict(
                _("The count is out of date. Nothing was changed. Count again."),
                code="count_expired",
            ) from error
        except signing.BadSignature as error:
            raise Invalid(_("The confirmation is not valid. Count the memories first.")) from error
        if payload[:2] != self._signed_fields[:2]:
            raise Invalid(
                _("This confirmation belongs to another person. Count the memories first.")
            )
        if payload != self._signed_fields:
            raise Conflict(
                _(
                    "The selected memories differ from those that were counted. "
                    "Nothing was changed. Count again."
                ),
                code="count_changed",
            )
