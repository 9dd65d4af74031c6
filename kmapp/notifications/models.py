"""Notifications of an account, and what each person has read and chosen."""

from datetime import UTC, datetime
from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, Func, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, PersonOwned, SameAccountKey, User
from kmapp.notifications.kinds import Email, EventKind

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
DEFAULT_HOUR = 8


class NotificationQuerySet(AccountQuerySet["Notification"]):
    def open(self) -> Self:
        return self.filter(closed_at=None)

    def visible_to(self, user: User, kinds: list[EventKind]) -> Self:
        """Return those of these kinds that the person did not turn off on pages."""
        kind = Func(
            OuterRef("kind"),
            template="ARRAY[%(expressions)s]",
            output_field=ArrayField(models.CharField(max_length=50)),
        )
        off = NotificationSettings.objects.filter(
            account_id=OuterRef("account_id"), owner=user, page_off__contains=kind
        )
        return self.filter(~Exists(off), kind__in=[each.name for each in kinds])

    def with_unread(self, user: User) -> Self:
        """Annotate whether it happened, or happened again, since the person read it."""
        own = {"account_id": OuterRef("account_id"), "owner": user}
        seen = NotificationSettings.objects.filter(**own).values("seen_until")
        read = NotificationRead.objects.filter(
            **own, notification=OuterRef("pk"), read_at__gte=OuterRef("last_at")
        )
        return self.annotate(
            is_unread=models.ExpressionWrapper(
                Q(closed_at=None, last_at__gt=Coalesce(Subquery(seen), Value(NEVER)))
                & ~Exists(read),
                output_field=models.BooleanField(),
            )
        )


class Notification(AccountOwned):
    """Something that happened, once or repeatedly, until it no longer needs attention.

    Only the kind and the subject are stored: readers get the text in their own language, and the
    titles of subjects as they are now. Derived: the ledger does not seal it, so that it can also
    be written while the ledger is read-only.
    """

    kind = models.CharField(_("kind"), max_length=50)
    subject = models.CharField(_("subject"), max_length=200, blank=True)
    count = models.PositiveIntegerField(_("count"), default=1)
    first_at = models.DateTimeField(_("first time"))
    last_at = models.DateTimeField(_("last time"))
    closed_at = models.DateTimeField(_("resolved"), null=True)

    objects: ClassVar = NotificationQuerySet.as_manager()

    is_unread: bool  # set by with_unread

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="notification_in_account"),
            models.UniqueConstraint(
                fields=["account", "kind", "subject"],
                condition=Q(closed_at=None),
                name="one_open_notification_per_subject",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "-last_at", "-id"], name="notifications_newest_first")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class NotificationRead(PersonOwned):
    """When a person read one notification."""

    notification = SameAccountKey(
        Notification, related_name="reads", verbose_name=_("notification")
    )
    read_at = models.DateTimeField(_("read"))

    class Meta:
        verbose_name = _("read notification")
        verbose_name_plural = _("read notifications")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "notification", "owner"], name="one_read_per_person"
            )
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} {self.notification_id}"


class NotificationSettings(PersonOwned):
    """What one person wants to know of an account, and until when they have seen everything."""

    class Digest(models.TextChoices):
        DAILY = "daily", _("Every day")
        WEEKLY = "weekly", _("Every Monday")

    page_off = ArrayField(
        models.CharField(max_length=50), verbose_name=_("not on pages"), default=list
    )
    email = models.JSONField(_("e-mail by kind"), default=dict)  # what differs from the defaults
    sends_email = models.BooleanField(_("e-mails"), default=True)
    digest = models.CharField(
        _("digest"), max_length=6, choices=Digest.choices, default=Digest.DAILY
    )
    hour = models.PositiveSmallIntegerField(_("hour"), default=DEFAULT_HOUR)
    seen_until = models.DateTimeField(_("seen until"), null=True)
    digest_at = models.DateTimeField(_("last digest"), null=True)

    class Meta:
        verbose_name = _("notification settings")
        verbose_name_plural = _("notification settings")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "owner"], name="one_notification_settings_per_person"
            )
        ]

    def __str__(self) -> str:
        return str(self.owner_id)

    def email_for(self, kind: EventKind) -> Email:
        """Return when this person gets e-mails about a kind."""
        return Email(self.email.get(kind.name, kind.email)) if self.sends_email else Email.NEVER
