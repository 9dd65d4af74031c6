"""Stored responses of idempotent requests."""

from collections.abc import Iterable
from typing import ClassVar, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet
from kmapp.database.steady_clock import SteadyTime


class IdempotentRequestQuerySet(AccountQuerySet["IdempotentRequest"]):
    def expired(self) -> Self:
        return self.filter(expires_at__lt=SteadyTime())

    def naming(self, objects: Iterable[UUID]) -> Self:
        """Return the requests whose response names any of these objects."""
        return self.filter(object_ids__overlap=list(objects))

    def erase_responses(self) -> int:
        """Erase the responses; retries get a 410."""
        forgotten = IdempotentRequest.State.FORGOTTEN
        return self.update(state=forgotten, fingerprint="", answer="", object_ids=[])


class IdempotentRequest(AccountOwned):
    """An Idempotency-Key of an API key, with its stored response."""

    class State(models.TextChoices):
        IN_FLIGHT = "in_flight", _("Running")
        DONE = "done", _("Completed")
        FORGOTTEN = "forgotten", _("Response erased")

    key_id = models.UUIDField(_("API key"))
    idempotency_key = models.CharField(_("idempotency key"), max_length=255)
    # Keyed, so that a reader of the database cannot guess the request.
    fingerprint = models.CharField(_("fingerprint of the request"), max_length=64)
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.IN_FLIGHT
    )
    lease_token = models.UUIDField(_("lease"))
    lease_until = models.DateTimeField(_("leased until"))
    status = models.PositiveSmallIntegerField(_("status"), null=True)
    answer = models.TextField(_("response"), blank=True)
    object_ids = ArrayField(models.UUIDField(), verbose_name=_("referenced objects"), default=list)
    created_at = models.DateTimeField(_("time"), db_default=Now())
    expires_at = models.DateTimeField(_("expires"))

    objects: ClassVar = IdempotentRequestQuerySet.as_manager()

    class Meta:
        verbose_name = _("idempotent request")
        verbose_name_plural = _("idempotent requests")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "key_id", "idempotency_key"], name="one_answer_per_request"
            ),
            models.CheckConstraint(
                name="done_request_has_an_answer",
                condition=~Q(state="done") | Q(status__isnull=False),
            ),
            models.CheckConstraint(
                name="forgotten_request_says_nothing",
                condition=~Q(state="forgotten") | Q(answer="", fingerprint=""),
            ),
        ]
        indexes = [models.Index(fields=["account", "expires_at"], name="answers_by_expiry")]

    def __str__(self) -> str:
        return f"{self.idempotency_key} ({self.state})"
