"""Postings for words and vectors for meaning. Both are derived and can be rebuilt."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

from kmapp.accounts.models import Account, AccountOwned, AccountQuerySet
from kmapp.providers.models import EmbeddingModel


class Vector(AccountOwned):
    """The vector of one part of a text, by one model.

    A text too long for the model has several parts. `text_sha256` identifies the text: a vector of
    an outdated text is not READY.
    """

    class State(models.TextChoices):
        PENDING = "PENDING", _("Waiting")
        READY = "READY", _("Ready")
        FAILED = "FAILED", _("Failed")

    collection = models.CharField(_("collection"), max_length=30)
    object_id = models.UUIDField(_("object"))
    part = models.PositiveSmallIntegerField(_("part"), default=0)
    model = models.ForeignKey(
        EmbeddingModel,
        on_delete=models.PROTECT,
        related_name="vectors",
        db_index=False,
        verbose_name=_("model"),
    )
    text_sha256 = models.CharField(_("text digest"), max_length=64)
    state = models.CharField(_("state"), max_length=7, choices=State.choices, default=State.PENDING)
    embedding = HalfVectorField(null=True, editable=False)
    error = models.CharField(_("error"), max_length=200, blank=True)
    ready_at = models.DateTimeField(_("ready at"), null=True)

    class Meta:
        verbose_name = _("vector")
        verbose_name_plural = _("vectors")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "collection", "object_id", "part", "model"],
                name="one_vector_per_part_and_model",
            ),
            models.CheckConstraint(
                condition=~Q(state="READY") | Q(embedding__isnull=False),
                name="ready_vector_has_embedding",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "model"], name="vectors_of_account"),
            models.Index(fields=["account", "text_sha256", "model"], name="vectors_by_text"),
            models.Index(
                fields=["account", "collection"],
                condition=Q(state="PENDING"),
                name="vectors_waiting",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.collection}:{self.object_id}#{self.part} {self.state}"


class TermPosting(models.Model):
    """One term of one document, with all values that BM25 needs.

    The empty term is the posting of the document itself: their number is N, `dl` is the length.
    """

    pk = models.CompositePrimaryKey("account_id", "collection", "term", "document")
    # Without a constraint: checking it for each posting takes half as long as writing it. Row-level
    # security admits the account of the transaction only, and its other rows have constraints.
    account = models.ForeignKey(
        Account,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
        db_constraint=False,
        editable=False,
    )
    collection = models.CharField(max_length=30)
    term = models.CharField(max_length=100)
    document = models.UUIDField()
    tf = models.SmallIntegerField()
    dl = models.IntegerField()

    objects = AccountQuerySet["TermPosting"].as_manager()

    class Meta:
        verbose_name = _("posting")
        verbose_name_plural = _("postings")

    def __str__(self) -> str:
        return f"{self.term} in {self.document}"
