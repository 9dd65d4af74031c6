"""The account, and what every row of an account has in common."""

from collections.abc import Collection
from operator import attrgetter
from typing import Any, Self, TypeVar
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.database.ids import uuid7
from kmapp.database.raw_sql import fetch_all

LAST_CHARACTER = "\U0010ffff"  # sorts after all others

M = TypeVar("M", bound=models.Model)


class Redaction(models.TextChoices):
    """Kinds of personal data that can be redacted before a text is stored."""

    EMAIL = "email", _("E-mail addresses")
    PHONE = "phone", _("Phone numbers")
    CARD = "card", _("Bank card and account numbers")
    ID = "id", _("Identity numbers")
    SECRET = "secret", _("Keys and tokens")


def all_redaction_kinds() -> list[str]:
    return [kind.value for kind in Redaction]


def sealed_columns(row: models.Model, unsealed: Collection[str] = ()) -> dict[str, Any]:
    """Return the columns without empty ones, so that a new column does not change digests."""
    names = [field.attname for field in row._meta.concrete_fields if field.attname not in unsealed]
    return {
        name: value
        for name, value in zip(names, attrgetter(*names)(row), strict=True)
        if value or is_sealed(value)
    }


def is_sealed(value: Any) -> bool:
    """Return whether `sealed_columns` includes a column with this value."""
    return bool(value) or (value is not None and value is not False and value not in ("", [], {}))


class Account(models.Model):
    """The tenant: one organisation's knowledge, rules and ledger."""

    class Policy(models.TextChoices):
        PROPOSE = "propose", _("Review first")
        APPLY = "apply", _("Apply immediately")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=100)
    slug = models.SlugField(_("short name"), max_length=50, unique=True)
    redact = ArrayField(
        models.CharField(max_length=20, choices=Redaction.choices),
        verbose_name=_("redacted data types"),
        default=all_redaction_kinds,
        blank=True,
    )
    account_wide = models.CharField(
        _("account-wide memories"),
        max_length=10,
        choices=Policy.choices,
        default=Policy.PROPOSE,
        help_text=_("How to handle memories that are visible to the whole account."),
    )
    require_second_factor = models.BooleanField(
        _("second factor required"), default=False, db_default=False
    )
    verify_on_read = models.BooleanField(_("verification on read"), default=False, db_default=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    archived_at = models.DateTimeField(_("archived"), null=True, blank=True)

    class Meta:
        verbose_name = _("account")
        verbose_name_plural = _("accounts")

    def __str__(self) -> str:
        return self.name

    def body(self) -> dict[str, Any]:
        """Return the columns that a commit digests."""
        return sealed_columns(self)


class AccountQuerySet(models.QuerySet[M]):
    """Querysets that filter by account first."""

    def of(self, account: "Account | UUID") -> Self:
        return self.filter(account_id=account if isinstance(account, UUID) else account.pk)

    def starting_with(self, column: str, prefix: str) -> Self:
        """Filter by a range, because row-level security keeps LIKE from using an index."""
        return self.filter(**{f"{column}__gte": prefix, f"{column}__lt": prefix + LAST_CHARACTER})

    def with_verify_on_read(self, account_id: UUID) -> Self:
        """Annotate whether the account verifies rows before agents get them."""
        switch = Account.objects.filter(pk=account_id).values("verify_on_read")
        return self.annotate(verify_on_read=models.Subquery(switch))


class AccountOwned(models.Model):
    """A row of one account. The migration that creates its table uses `EnableRowLevelSecurity`."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    account = models.ForeignKey(
        Account,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
        editable=False,
        verbose_name=_("account"),
    )

    objects = AccountQuerySet["Self"].as_manager()

    verify_on_read: bool  # set by with_verify_on_read

    class Meta:
        abstract = True


_To = TypeVar("_To")
_From = TypeVar("_From")


class SameAccountKey(models.ForeignKey[_From, _To]):
    """A foreign key to a row of the same account.

    The database checks both, by the migration operation `SameAccountForeignKey`. It has no index.
    """

    def __init__(self, to: Any, on_delete: Any = models.CASCADE, **options: Any) -> None:
        super().__init__(to, on_delete, **{"db_constraint": False, "db_index": False} | options)

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """Return a plain `ForeignKey` for migrations."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.ForeignKey", args, kwargs


class SealedModel(AccountOwned):
    """A row that the ledger seals: every change of it belongs to a commit.

    A commit digests `body()`: every column except `unsealed_fields`, which are statistics or name
    the last commit. `kmapp.ledger.fsck` reads the same columns with independent code.
    """

    unsealed_fields: tuple[str, ...] = ("commit_id",)
    last_seal: str | None  # only set if the seal was read with the row, see `RowSeal.parse`

    commit = SameAccountKey(
        "ledger.Commit",
        on_delete=models.PROTECT,
        related_name="+",
        editable=False,
        verbose_name=_("commit"),
    )

    class Meta:
        abstract = True

    def body(self) -> dict[str, Any]:
        """Return the columns that a commit digests."""
        return sealed_columns(self, self.unsealed_fields)


def account_ids() -> list[UUID]:
    """Return the ids of all accounts, for jobs that visit each with its own `acting`."""
    return [row[0] for row in fetch_all("SELECT account_ids()")]
