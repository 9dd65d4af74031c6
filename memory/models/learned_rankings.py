"""Judgements of people and agents, and the rankings that an account learned from them."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, SameAccountKey, SealedModel
from kmapp.search.signal_weights import LEARNED_WEIGHTS
from kmapp.search.variants import AccountRanking
from memory.models.entries import OWNER_IDS, MemoryEntry, Viewer


class ViewerQuestion(AccountOwned):
    """A question, and who asked it."""

    question = models.TextField(_("question"))
    user_id = models.CharField(_("user"), max_length=200, blank=True)
    agent_id = models.CharField(_("agent"), max_length=200, blank=True)
    app_id = models.CharField(_("app"), max_length=200, blank=True)
    run_id = models.CharField(_("run"), max_length=200, blank=True)
    scope = models.CharField(_("scope"), max_length=200, blank=True)

    class Meta:
        abstract = True

    @property
    def viewer(self) -> Viewer:
        return Viewer(**{name: getattr(self, name) for name in OWNER_IDS}, scope=self.scope or None)


class Judgement(ViewerQuestion, SealedModel):
    """Whether a memory is relevant to a question. Replaced by a newer one from its source."""

    class Label(models.TextChoices):
        RELEVANT = "relevant", _("Relevant")
        NOT_RELEVANT = "not_relevant", _("Not relevant")
        WITHDRAWN = "withdrawn", _("Withdrawn")

    class Source(models.TextChoices):
        PERSON = "person", _("People")
        IMPORT = "import", _("Imports and the API")
        FEEDBACK = "feedback", _("Ratings of memories")
        CALL = "call", _("Outcomes of calls")  # derived from calls, never stored

    entry = SameAccountKey(MemoryEntry, related_name="judgements", verbose_name=_("memory"))
    label = models.CharField(_("judgement"), max_length=12, choices=Label.choices)
    source = models.CharField(_("source"), max_length=8, choices=Source.choices)
    judged_by = models.CharField(_("judged by"), max_length=50)
    created_at = models.DateTimeField(_("judged"))

    class Meta:
        verbose_name = _("judgement")
        verbose_name_plural = _("judgements")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="judgement_in_account"),
            models.CheckConstraint(
                condition=Q(label__in=["relevant", "not_relevant", "withdrawn"]),
                name="judgement_has_known_label",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="judgements_newest_first"),
            models.Index(fields=["account", "entry"], name="judgements_of_entry"),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} {self.label}"


class Ranking(SealedModel):
    """Search weights that an account learned from its labelled questions."""

    class Status(models.TextChoices):
        LEARNING = "learning", _("Learning")
        DRAFT = "draft", _("Draft")
        SHADOW = "shadow", _("Shadow")
        ACTIVE = "active", _("Active")
        RETIRED = "retired", _("Retired")

    number = models.PositiveIntegerField(_("number"))
    status = models.CharField(
        _("status"), max_length=8, choices=Status.choices, default=Status.LEARNING
    )
    weights = models.JSONField(_("weights"), default=dict, blank=True)
    # Results on held-out questions, or the reason why there is no draft.
    evaluation = models.JSONField(_("evaluation"), default=dict, blank=True)
    replaced = models.UUIDField(_("replaced ranking"), null=True, blank=True, editable=False)
    created_by = models.CharField(_("requested by"), max_length=50)
    created_at = models.DateTimeField(_("created"))
    shadowed_at = models.DateTimeField(_("in shadow since"), null=True, blank=True)
    activated_at = models.DateTimeField(_("active since"), null=True, blank=True)

    class Meta:
        verbose_name = _("ranking")
        verbose_name_plural = _("rankings")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="ranking_in_account"),
            models.UniqueConstraint(fields=["account", "number"], name="one_ranking_per_number"),
            *(
                models.UniqueConstraint(
                    fields=["account"], condition=Q(status=status), name=f"one_{status}_ranking"
                )
                for status in ("learning", "shadow", "active")
            ),
            models.CheckConstraint(
                condition=~Q(status="active") | Q(shadowed_at__isnull=False),
                name="active_ranking_was_shadowed",
            ),
        ]

    def __str__(self) -> str:
        return f"r{self.number}"

    def to_account_ranking(self) -> AccountRanking:
        """Return the number and the weights of the ranking, for searches."""
        weights: dict[str, Any] = self.weights
        # A signal that is newer than the ranking has no weight in it.
        learned = tuple(float(weights.get(name, 0)) for name in LEARNED_WEIGHTS)
        return AccountRanking(self.number, learned)


class RankingComparison(ViewerQuestion):
    """The first ten results of one question with the ranking and without it."""

    class Origin(models.TextChoices):
        HELD_OUT = "held_out", _("Held out")
        LEARNED_ON = "learned_on", _("Learned from")
        SHADOW = "shadow", _("Asked by an agent")

    ranking = SameAccountKey(Ranking, related_name="comparisons", verbose_name=_("ranking"))
    origin = models.CharField(_("origin"), max_length=10, choices=Origin.choices)
    before = ArrayField(models.UUIDField(), verbose_name=_("results without it"), default=list)
    after = ArrayField(models.UUIDField(), verbose_name=_("results with it"), default=list)
    relevant = ArrayField(models.UUIDField(), verbose_name=_("relevant"), default=list, blank=True)
    changed = models.PositiveSmallIntegerField(_("results replaced"), default=0)
    created_at = models.DateTimeField(_("compared"))

    class Meta:
        verbose_name = _("ranking comparison")
        verbose_name_plural = _("ranking comparisons")
        indexes = [
            models.Index(
                fields=["account", "ranking", "origin", "-changed", "-id"],
                name="comparisons_most_changed",
            ),
            models.Index(fields=["account", "created_at"], name="comparisons_by_age"),
        ]

    def __str__(self) -> str:
        return self.question[:60]
