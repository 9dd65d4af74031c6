"""Background evaluations with visible progress, such as backtests and comparisons."""

from typing import Any
from uuid import UUID

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned
from kmapp.errors import Conflict

MAX_UNFINISHED = 20  # evaluations of one kind in an account, because all accounts share the workers


class BackgroundEvaluation(AccountOwned):
    """A background evaluation without side effects. Subclasses define its subject and its size."""

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        RUNNING = "running", _("Running")
        SUCCEEDED = "succeeded", _("Done")
        FAILED = "failed", _("Failed")

    status = models.CharField(
        _("status"), max_length=9, choices=Status.choices, default=Status.PENDING
    )
    done = models.PositiveIntegerField(_("processed"), default=0)
    asked_by = models.CharField(_("requested by"), max_length=50)
    created_at = models.DateTimeField(_("time"))
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_unfinished(self) -> bool:
        return self.status in (self.Status.PENDING, self.Status.RUNNING)

    @classmethod
    def require_capacity(cls, account_id: UUID) -> None:
        """Raise Conflict if too many evaluations of the account wait already. Inside `acting`."""
        statuses = (cls.Status.PENDING, cls.Status.RUNNING)
        rows = cls._default_manager.filter(account_id=account_id, status__in=statuses)
        if rows[:MAX_UNFINISHED].count() == MAX_UNFINISHED:
            raise Conflict(
                gettext("Too many runs are unfinished. Wait until one of them is done."),
                code="too_many_runs",
                details={"limit": MAX_UNFINISHED},
            )

    def store(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=list(values))

    def begin(self, **values: Any) -> None:
        self.store(status=self.Status.RUNNING, finished_at=None, **values)

    def end(self, **values: Any) -> None:
        self.store(status=self.Status.SUCCEEDED, finished_at=timezone.now(), **values)

    @classmethod
    def mark_failed(cls, account_id: UUID, pk: UUID) -> None:
        """Mark the evaluation as failed, because its job failed permanently. Inside `acting`."""
        rows = cls._default_manager.filter(account_id=account_id, pk=pk)
        rows.exclude(status=cls.Status.SUCCEEDED).update(
            status=cls.Status.FAILED, finished_at=timezone.now()
        )
