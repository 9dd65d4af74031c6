"""Context settings of an account; without a row, the defaults apply."""

from typing import Any, ClassVar
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from context.assembly.assembly_policy import DEFAULT, AssemblyPolicy, InvalidPolicy
from context.assembly.retrieval_request import REMOTE_SOURCES, Remote
from context.assembly.variant_assignment import PERCENT
from kmapp.accounts.models import Account, AccountQuerySet, SealedModel
from kmapp.search.variants import VARIANTS

MAX_LENGTH = 1_000_000  # characters
MAX_RETENTION_DAYS = 36_500  # days
MAX_TOOLS = 200
MAX_MODELS = 200
DEFAULT_INPUTS_DAYS = 30  # unless the account sets another number
PRICES = frozenset({"input", "output", "cached"})


class Language(models.TextChoices):
    EN = "en", _("English")
    ZH = "zh", _("Chinese")


def check_thresholds(value: Any) -> None:
    """Validate thresholds in characters by tool."""
    if not isinstance(value, dict) or len(value) > MAX_TOOLS:
        raise ValidationError(_("Enter a number of characters for each tool."))
    for characters in value.values():
        if type(characters) is not int or not 0 <= characters <= MAX_LENGTH:
            raise ValidationError(
                _("Enter a whole number of characters, up to %(most)d.") % {"most": MAX_LENGTH}
            )


def check_prices(value: Any) -> None:
    """Validate prices per million tokens by model."""
    if not isinstance(value, dict) or len(value) > MAX_MODELS:
        raise ValidationError(_("Enter prices for each model."))
    for price in value.values():
        if not isinstance(price, dict) or not {"input"} <= price.keys() <= PRICES:
            raise ValidationError(
                _("Enter an input price for each model; output and cached are optional.")
            )
        if not all(
            type(amount) in (int, float) and 0 <= amount < MAX_LENGTH for amount in price.values()
        ):
            raise ValidationError(_("Enter each price as a number per million tokens."))


def check_variants(value: Any) -> None:
    """Validate shares in percent by variant: in total 100, or none."""
    if not isinstance(value, dict) or not value.keys() <= VARIANTS.keys():
        raise ValidationError(
            _("Enter a share for each variant. Available variants: %(names)s.")
            % {"names": ", ".join(VARIANTS)}
        )
    if not all(type(share) is int and 0 < share <= PERCENT for share in value.values()):
        raise ValidationError(_("Enter each share as a whole percentage from 1 to 100."))
    if value and sum(value.values()) != PERCENT:
        raise ValidationError(_("Shares must add up to 100 percent."))


def check_policy(value: Any) -> None:
    if not isinstance(value, dict):
        raise ValidationError(_("Enter policy settings as names and values."))
    try:
        DEFAULT.with_changes(value)
    except InvalidPolicy as error:
        raise ValidationError(str(error)) from error


class SettingsQuerySet(AccountQuerySet["ContextSettings"]):
    def get_or_default(self, account_id: UUID) -> "ContextSettings":
        """Return the account's settings with their account, or unsaved defaults."""
        row = self.of(account_id).select_related("account").first()
        return row or ContextSettings(account=Account.objects.get(pk=account_id))


class ContextSettings(SealedModel):
    archive_threshold = models.PositiveIntegerField(
        _("archive tool results longer than (characters)"),
        default=10_000,
        validators=[MaxValueValidator(MAX_LENGTH)],
    )
    tool_thresholds = models.JSONField(
        _("thresholds by tool"), default=dict, blank=True, validators=[check_thresholds]
    )
    retention_days = models.PositiveIntegerField(
        _("tool result retention (days)"),
        null=True,
        blank=True,
        default=90,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_RETENTION_DAYS)],
    )
    across_conversations = models.BooleanField(
        _("agents can search tool results from other conversations"), default=False
    )
    language = models.CharField(
        _("placeholder language"), max_length=10, choices=Language.choices, default=Language.EN
    )
    inputs_days = models.PositiveIntegerField(
        _("call input retention (days)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_RETENTION_DAYS)],
    )
    policy = models.JSONField(
        _("assembly policy"), default=dict, blank=True, validators=[check_policy]
    )
    prices = models.JSONField(
        _("model prices"), default=dict, blank=True, validators=[check_prices]
    )
    variants = models.JSONField(
        _("variant shares"), default=dict, blank=True, validators=[check_variants]
    )
    # Another kmapp that is queried first. Its key is encrypted: see kmapp.database.encryption.
    remote_url = models.CharField(_("remote kmapp address"), max_length=500, blank=True)
    remote_key = models.TextField(_("remote kmapp key"), blank=True, editable=False)
    remote_sources = ArrayField(
        models.CharField(max_length=20, choices=[(name, name) for name in REMOTE_SOURCES]),
        verbose_name=_("remote sources"),
        default=list,
        blank=True,
    )
    version = models.PositiveIntegerField(_("version"), default=0)

    objects: ClassVar = SettingsQuerySet.as_manager()

    class Meta:
        verbose_name = _("context settings")
        verbose_name_plural = _("context settings")
        constraints = [
            models.UniqueConstraint(fields=["account"], name="one_context_settings_per_account"),
            models.CheckConstraint(
                condition=Q(retention_days=None) | Q(retention_days__gte=1),
                name="retention_of_at_least_a_day",
            ),
            models.CheckConstraint(
                condition=Q(remote_url="") | ~Q(remote_key=""), name="another_kmapp_has_a_key"
            ),
        ]

    def __str__(self) -> str:
        return str(self._meta.verbose_name)

    def threshold_of(self, tool_name: str) -> int:
        return int(self.tool_thresholds.get(tool_name, self.archive_threshold))

    def remote(self) -> Remote | None:
        """Return the other kmapp, if it serves any source."""
        if not self.remote_url or not self.remote_sources:
            return None
        return Remote(
            base_url=self.remote_url, sealed_key=self.remote_key, sources=tuple(self.remote_sources)
        )

    def assembly_policy(self) -> AssemblyPolicy:
        return DEFAULT.with_changes(self.policy)
