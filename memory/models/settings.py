"""Memory settings of an account. The defaults apply without a row."""

from typing import Any, ClassVar
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Account, AccountQuerySet, SealedModel
from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.database.raw_sql import build_object, list_columns
from memory.models.entries import MemoryEntry, unit_interval_field
from memory.review.similarity import MIN_DUPLICATE_SCORE, MIN_SAME_MEANING, Bounds

MAX_INJECTED = 50
MAX_RETENTION_DAYS = 36_500  # days
MAX_INSTRUCTIONS_LENGTH = 4_000  # characters of instructions
MAX_CATEGORIES = 30
MAX_CATEGORY_NAME_LENGTH, MAX_CATEGORY_LENGTH = 50, 300  # characters
DAILY_WRITES, OPEN_PROPOSALS = 200_000, 2_000  # default limits of a key
UNIT_INTERVAL_FIELDS = ("store_threshold", "min_score", "duplicate_score", "contradiction_score")


def validate_retention_days(value: Any) -> None:
    kinds = set(MemoryEntry.Kind.values)
    if not isinstance(value, dict) or not set(value) <= kinds:
        raise ValidationError(_("Enter the number of days for each kind of memory."))
    for days in value.values():
        if type(days) is not int or not 1 <= days <= MAX_RETENTION_DAYS:
            raise ValidationError(
                _("Enter a whole number of days from 1 to %(most)d.") % {"most": MAX_RETENTION_DAYS}
            )


def validate_categories(value: Any) -> None:
    if not isinstance(value, dict) or len(value) > MAX_CATEGORIES:
        raise ValidationError(
            _("Enter at most %(most)d categories, each with a description.")
            % {"most": MAX_CATEGORIES}
        )
    for name, what in value.items():
        if not isinstance(what, str) or not 1 <= len(what) <= MAX_CATEGORY_LENGTH:
            raise ValidationError(_("Enter a short description for each category."))
        if not 1 <= len(name) <= MAX_CATEGORY_NAME_LENGTH:
            raise ValidationError(_("Use a shorter category name."))


_WITH_ACCOUNT = """
SELECT {columns}
FROM accounts_account a LEFT JOIN memory_memorysettings s ON s.account_id = a.id
WHERE a.id = %s::uuid
"""


class SettingsQuerySet(AccountQuerySet["MemorySettings"]):
    def get_or_default(self, account_id: UUID) -> "MemorySettings":
        """Return the settings with their account, in one query."""
        columns = f"{list_columns(Account, 'a')}, {list_columns(MemorySettings, 's')}"
        with prepared_cursor() as cursor:
            cursor.execute(_WITH_ACCOUNT.format(columns=columns), [account_id])
            [row] = cursor.fetchall()
        size = len(Account._meta.concrete_fields)
        account = build_object(Account, row[:size])
        is_default = row[size] is None
        settings = MemorySettings() if is_default else build_object(MemorySettings, row[size:])
        settings.account = account
        return settings


class MemorySettings(SealedModel):
    """Memory settings of an account, of which there is at most one row."""

    memory_enabled = models.BooleanField(_("inject memories into prompts"), default=True)
    auto_store = models.BooleanField(_("store useful results automatically"), default=True)
    store_threshold = unit_interval_field(_("minimum value to store"), 0.5)
    inject_max_memories = models.PositiveSmallIntegerField(
        _("maximum memories per prompt"),
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_INJECTED)],
    )
    min_score = unit_interval_field(_("minimum score"), 0.0)
    # Review of account-wide memories is a setting of the account.
    review_visibilities = ArrayField(
        models.CharField(max_length=12, choices=MemoryEntry.Visibility.choices),
        verbose_name=_("visibilities that need review"),
        default=list,
        blank=True,
    )
    review_kinds = ArrayField(
        models.CharField(max_length=15, choices=MemoryEntry.Kind.choices),
        verbose_name=_("kinds that need review"),
        default=list,
        blank=True,
    )
    review_keys = ArrayField(
        models.CharField(max_length=36),  # ids; a list of UUIDs has no canonical form
        verbose_name=_("API keys whose memories need review"),
        default=list,
        blank=True,
    )
    duplicate_score = unit_interval_field(_("near-duplicate threshold"), MIN_DUPLICATE_SCORE)
    contradiction_score = unit_interval_field(_("contradiction threshold"), MIN_SAME_MEANING)
    # Null means the default. A default here would change the digests of older commits.
    daily_writes = models.PositiveIntegerField(
        _("memories per key per day"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    open_proposals = models.PositiveIntegerField(
        _("pending proposals per key"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    forget_after = models.JSONField(
        _("retention by kind (days)"),
        default=dict,
        blank=True,
        validators=[validate_retention_days],
    )
    # Added to the prompts of extraction; the categories replace those of the product.
    instructions = models.TextField(
        _("additional extraction instructions"), blank=True, max_length=MAX_INSTRUCTIONS_LENGTH,
        validators=[MaxLengthValidator(MAX_INSTRUCTIONS_LENGTH)],
    )  # fmt: skip
    categories = models.JSONField(
        _("categories of facts"), default=dict, blank=True, validators=[validate_categories]
    )
    version = models.PositiveIntegerField(_("version"), default=0)

    objects: ClassVar = SettingsQuerySet.as_manager()

    class Meta:
        verbose_name = _("memory settings")
        verbose_name_plural = _("memory settings")
        constraints = [
            models.UniqueConstraint(fields=["account"], name="one_settings_per_account"),
            *(
                models.CheckConstraint(
                    condition=Q(**{f"{name}__gte": 0, f"{name}__lte": 1}),
                    name=f"settings_{name}_between_0_and_1",
                )
                for name in UNIT_INTERVAL_FIELDS
            ),
            models.CheckConstraint(
                condition=Q(inject_max_memories__gte=1, inject_max_memories__lte=MAX_INJECTED),
                name="inject_some_memories",
            ),
        ]

    def __str__(self) -> str:
        return str(self._meta.verbose_name)

    @property
    def bounds(self) -> Bounds:
        return Bounds(min_duplicate=self.duplicate_score, min_same_meaning=self.contradiction_score)

    @property
    def daily_write_limit(self) -> int:
        return self.daily_writes or DAILY_WRITES

    @property
    def open_proposal_limit(self) -> int:
        return self.open_proposals or OPEN_PROPOSALS
