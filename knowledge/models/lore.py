"""Lore entries, triggered by the text of a conversation."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import SameAccountKey, SealedModel
from knowledge.lore.lorebook_evaluation import Logic
from knowledge.models.sources import KnowledgeSource


class LorebookEntry(SealedModel):
    """A text of a lorebook with its triggers, for `knowledge.lore.lorebook_evaluation`."""

    class Secondary(models.TextChoices):
        AND_ANY = Logic.AND_ANY.value, _("any of them matches")
        AND_ALL = Logic.AND_ALL.value, _("all of them match")
        NOT_ANY = Logic.NOT_ANY.value, _("none of them matches")
        NOT_ALL = Logic.NOT_ALL.value, _("not all of them match")

    source = SameAccountKey(KnowledgeSource, related_name="entries", verbose_name=_("lorebook"))
    name = models.CharField(_("name"), max_length=200, blank=True)
    content = models.TextField(_("text"))
    keys = ArrayField(
        models.CharField(max_length=500), verbose_name=_("keys"), default=list, blank=True
    )
    secondary_keys = ArrayField(
        models.CharField(max_length=500), verbose_name=_("secondary keys"), default=list, blank=True
    )
    secondary_logic = models.CharField(
        _("secondary key logic"), max_length=7, choices=Secondary.choices, default=Secondary.AND_ANY
    )
    regex = models.BooleanField(_("keys are regular expressions"), default=False)
    case_sensitive = models.BooleanField(_("case-sensitive"), default=False)
    whole_words = models.BooleanField(_("whole words only"), default=False)
    constant = models.BooleanField(_("always fires"), default=False)
    enabled = models.BooleanField(_("enabled"), default=True)
    priority = models.IntegerField(_("priority"), default=0)
    order = models.IntegerField(_("order"), default=100)
    budget_weight = models.FloatField(_("budget weight"), default=1.0)
    scope = models.CharField(_("scope"), max_length=200, blank=True)
    scan_depth = models.PositiveIntegerField(_("scan depth (messages)"), null=True, blank=True)
    recursive = models.BooleanField(_("recursive"), default=True)
    recursable = models.BooleanField(_("can be fired by other entries"), default=True)
    sticky = models.PositiveIntegerField(_("sticky (turns)"), default=0)
    cooldown = models.PositiveIntegerField(_("cooldown (turns)"), default=0)
    uid = models.CharField(_("original id"), max_length=100, blank=True)
    version = models.PositiveIntegerField(_("version"), default=1)
    created_by = models.CharField(_("written by"), max_length=50)
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))

    class Meta:
        verbose_name = _("lore")
        verbose_name_plural = _("lore")
        constraints = [models.UniqueConstraint(fields=["account", "id"], name="lore_in_account")]
        indexes = [models.Index(fields=["account", "source", "order"], name="lore_of_source")]

    def __str__(self) -> str:
        return self.name or self.content[:60]
