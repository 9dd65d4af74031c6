"""Who has which proposal in hand, for a few minutes."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet
from memory.models.entries import MemoryEntry


class ReviewLease(AccountOwned):
    """One person decides about one proposal. Operational: it lapses, and nothing is lost."""

    entry = models.OneToOneField(
        MemoryEntry,
        on_delete=models.CASCADE,
        related_name="lease",
        db_constraint=False,
        verbose_name=_("memory"),
    )
    holder = models.CharField(_("locked by"), max_length=50)
    token = models.UUIDField(_("lease"))
    until = models.DateTimeField(_("locked until"))

    objects = AccountQuerySet["ReviewLease"].as_manager()

    class Meta:
        verbose_name = _("lease")
        verbose_name_plural = _("leases")
        indexes = [models.Index(fields=["account", "holder"], name="leases_by_holder")]

    def __str__(self) -> str:
        return f"{self.entry_id} {self.holder}"
