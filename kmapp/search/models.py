"""Words and vectors of texts. Both are derived and can be rebuilt."""

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

from kmapp.accounts.models import Account, AccountOwned, AccountQuerySet
from kmapp.providers.models import EmbeddingModel

MAX_READER_GROUP = 210  # characters: an id of 200 with a prefix


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
            # Narrower than the constraint: a scan looks up thousands of objects.
            models.Index(fields=["object_id", "collection"], name="vectors_by_object"),
            models.Index(
                fields=["account", "collection"],
                condition=Q(state="PENDING"),
                name="vectors_waiting",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.collection}:{self.object_id}#{self.part} {self.state}"


class CollectionRow(models.Model):
    """A row whose primary key starts with the account and the collection."""

    account = models.ForeignKey(
        Account, on_delete=models.CASCADE, related_name="+", db_index=False, editable=False
    )
    collection = models.CharField(max_length=30)

    objects = AccountQuerySet[Self].as_manager()

    class Meta:
        abstract = True


class IndexedDocument(CollectionRow):
    """The words of one text, with all values that BM25 needs.

    `number` is its place in packed postings. A recent document has none: its own row is read.
    `reader_group` names who may find it; a trigger of the app that owns the collection sets it.
    """

    class Coding(models.IntegerChoices):
        """Whether the vectors of the model of `CodeCentre` are in `PackedCodes`."""

        NONE = 0  # it had no vector when codes were packed
        WAITING = 1
        PACKED = 2

    pk = models.CompositePrimaryKey("account_id", "collection", "document")
    document = models.UUIDField()
    length = models.IntegerField()  # in terms, repeated ones included
    terms = models.JSONField()  # {term: how often}
    number = models.IntegerField(null=True)
    reader_group = models.CharField(max_length=MAX_READER_GROUP, db_default="")
    coding = models.SmallIntegerField(choices=Coding, db_default=Coding.NONE)

    class Meta:
        verbose_name = _("indexed document")
        verbose_name_plural = _("indexed documents")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "collection", "number"],
                condition=Q(number__isnull=False),
                include=["document"],
                name="documents_by_number",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "collection", "document"],
                condition=Q(number__isnull=True),
                name="documents_not_packed",
            ),
            models.Index(
                fields=["account", "collection", "reader_group"],
                include=["document", "number"],
                condition=Q(coding=1),
                name="documents_not_coded",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.collection}:{self.document}"


class PackedPostings(CollectionRow):
    """One term in a block of documents, as an array; see `kmapp.search.posting_scores`."""

    pk = models.CompositePrimaryKey("account_id", "collection", "term", "block")
    # Without a constraint: checking it for each row takes half as long as writing it. Row-level
    # security admits the account of the transaction only, and its documents have constraints.
    account = models.ForeignKey(
        Account,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
        db_constraint=False,
        editable=False,
    )
    term = models.CharField(max_length=100)
    block = models.IntegerField()  # number of a document // BLOCK
    postings = models.BinaryField()

    class Meta:
        verbose_name = _("packed postings")
        verbose_name_plural = _("packed postings")

    def __str__(self) -> str:
        return f"{self.term} in block {self.block}"


class PackedReaderGroup(CollectionRow):
    """The numbers of a reader group's documents in a block; see `reader_group_search`."""

    pk = models.CompositePrimaryKey("account_id", "collection", "reader_group", "block")
    reader_group = models.CharField(max_length=MAX_READER_GROUP)
    block = models.IntegerField()  # number of a document // BLOCK
    numbers = models.BinaryField()

    class Meta:
        verbose_name = _("packed reader group")
        verbose_name_plural = _("packed reader groups")

    def __str__(self) -> str:
        return f"{self.reader_group} in block {self.block}"


class PackedCodes(CollectionRow):
    """The codes of a reader group's vectors in a block; see `kmapp.search.vector_codes`."""

    pk = models.CompositePrimaryKey("account_id", "collection", "model_id", "reader_group", "block")
    model = models.ForeignKey(
        EmbeddingModel, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    reader_group = models.CharField(max_length=MAX_READER_GROUP)
    block = models.IntegerField()
    codes = models.BinaryField()

    class Meta:
        verbose_name = _("packed codes")
        verbose_name_plural = _("packed codes")

    def __str__(self) -> str:
        return f"{self.reader_group} in block {self.block}"


class CodeCentre(CollectionRow):
    """The vector that codes are relative to: the mean of some of a collection's vectors."""

    pk = models.CompositePrimaryKey("account_id", "collection", "model_id")
    model = models.ForeignKey(
        EmbeddingModel, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    centre = models.BinaryField()  # float32, little-endian
    size = models.IntegerField()  # number of vectors that it is the mean of

    class Meta:
        verbose_name = _("centre of codes")
        verbose_name_plural = _("centres of codes")

    def __str__(self) -> str:
        return f"{self.collection} {self.model_id}"


class RemovedDocument(CollectionRow):
    """A removed document whose postings are still packed, usually for some milliseconds."""

    pk = models.CompositePrimaryKey("account_id", "collection", "number")
    number = models.IntegerField()
    reader_group = models.CharField(max_length=MAX_READER_GROUP, db_default="")
    terms = ArrayField(models.CharField(max_length=100))

    class Meta:
        verbose_name = _("removed document")
        verbose_name_plural = _("removed documents")

    def __str__(self) -> str:
        return f"{self.collection}#{self.number}"
