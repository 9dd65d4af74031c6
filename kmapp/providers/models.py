"""Embedding models and their states."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class EmbeddingModel(models.Model):
    """An embedding model of the deployment: name, size and form of texts.

    The model or the template is changed without downtime: a second row is filled, compared with the
    first, and activated.
    """

    class State(models.TextChoices):
        BUILDING = "building", _("Building")
        ACTIVE = "active", _("Active")
        RETIRED = "retired", _("Retired")

    id = models.SmallAutoField(primary_key=True)
    name = models.CharField(_("name"), max_length=200)
    dimensions = models.PositiveSmallIntegerField(_("dimensions"))
    sends_input_type = models.BooleanField(
        _("send input_type"),
        default=False,
        help_text=_(
            "Turn this on if the server adds query and passage prefixes based on input_type."
        ),
    )
    query_prefix = models.CharField(_("query prefix"), max_length=100, blank=True)
    passage_prefix = models.CharField(_("passage prefix"), max_length=100, blank=True)
    passage_template = models.CharField(
        _("passage template"),
        max_length=200,
        default="{text}",
        help_text=_(
            "Available fields: {date}, {speaker}, {title}, {kind}, {text}; missing fields "
            "are omitted."
        ),
    )
    cosine_low = models.FloatField(
        _("cosine of unrelated texts"),
        default=0.15,
        help_text=_("Scores are scaled from this value to the cosine of the best matches."),
    )
    cosine_high = models.FloatField(_("cosine of the best matches"), default=0.75)
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.BUILDING
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("embedding model")
        verbose_name_plural = _("embedding models")
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=Q(state="active"), name="one_active_embedding_model"
            ),
            models.CheckConstraint(
                condition=Q(cosine_low__lt=models.F("cosine_high")),
                name="best_answers_are_nearer_than_unrelated_texts",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} #{self.pk}"
