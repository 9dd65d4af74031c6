"""Events, which never change, and their deliveries, which do."""

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey


class OutboxEvent(AccountOwned):
    """A fact about one account, written in the transaction of the change. Immutable.

    `job_key` is object:version: each edit is one event.
    """

    topic = models.CharField(_("topic"), max_length=100)
    job_key = models.CharField(_("job key"), max_length=200)
    payload = models.JSONField(_("payload"))
    payload_sha256 = models.CharField(_("payload digest"), max_length=64)
    # The trace in which it was published, as a W3C header.
    traceparent = models.CharField(_("trace"), max_length=55, blank=True, db_default="")
    created_at = models.DateTimeField(_("time"), db_default=Now())

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="event_in_account"),
            models.UniqueConstraint(
                fields=["account", "topic", "job_key"], name="one_event_per_job"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.topic} {self.job_key}"


class DeliveryQuerySet(AccountQuerySet["Delivery"]):
    def open(self) -> Self:
        return self.filter(done_at=None, failed_at=None)

    def in_state(self, state: str) -> Self:
        if state == Delivery.State.SUCCEEDED:
            return self.exclude(done_at=None)
        if state == Delivery.State.FAILED:
            return self.dead()
        return self.open().filter(lease_token__isnull=state == Delivery.State.PENDING)

    def dead(self) -> Self:
        """Return the deliveries that failed too often. A person decides about them."""
        return self.exclude(failed_at=None)


class Delivery(AccountOwned):
    """One event for one handler: the only part of the outbox that changes."""

    class State(models.TextChoices):
        PENDING = "PENDING", _("Waiting")
        RUNNING = "RUNNING", _("Running")
        SUCCEEDED = "SUCCEEDED", _("Done")
        FAILED = "FAILED", _("Failed")

    event = SameAccountKey(OutboxEvent, related_name="deliveries", verbose_name=_("event"))
    handler = models.CharField(_("handler"), max_length=100)
    queue = models.CharField(_("queue"), max_length=20)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    due_at = models.DateTimeField(_("due at"), db_default=Now())
    lease_token = models.UUIDField(_("lease"), null=True)
    lease_owner = models.UUIDField(_("leased by task"), null=True)
    lease_until = models.DateTimeField(_("leased until"), null=True)
    done_at = models.DateTimeField(_("done"), null=True)
    failed_at = models.DateTimeField(_("failed at"), null=True)
    last_error = models.TextField(_("last error"), blank=True)
    reason = models.CharField(_("waiting for"), max_length=50, blank=True)

    objects: ClassVar = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        constraints = [
            models.UniqueConstraint(fields=["event", "handler"], name="one_delivery_per_handler")
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(done_at=None, failed_at=None), name="deliveries_due"
            ),
            models.Index(
                fields=["account", "handler", "due_at"],
                condition=Q(done_at=None, failed_at=None),
                name="deliveries_due_by_account",
            ),
            # For the depth of the queue, and to release the leases of a dead task.
            models.Index(fields=["handler"], condition=Q(done_at=None), name="deliveries_not_done"),
            models.Index(
                fields=["account", "-failed_at"],
                condition=Q(failed_at__isnull=False),
                name="deliveries_dead",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.handler} ({self.state})"

    @property
    def state(self) -> "Delivery.State":
        if self.done_at:
            return self.State.SUCCEEDED
        if self.failed_at:
            return self.State.FAILED
        return self.State.RUNNING if self.lease_token else self.State.PENDING
