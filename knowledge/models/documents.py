"""Documents with every version of their text, so that citations stay valid."""

from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey, SealedModel
from kmapp.ledger.models import Tombstone
from knowledge.models.sources import KnowledgeSource
from knowledge.parsing.failure_messages import JOB_FAILED, translate_failure

MAX_TAGS, MAX_TAG_LENGTH = 20, 50


class DocumentQuerySet(AccountQuerySet["KnowledgeDocument"]):
    def not_removed(self) -> Self:
        """Return the documents that their source still has."""
        return self.filter(removed_at=None)

    def unparsed(self) -> Self:
        """Return the documents that a job parses: pending ones, and those whose job failed."""
        return self.filter(Q(state="pending") | Q(state="failed", error=JOB_FAILED))

    def stale(self) -> Self:
        """Return the documents whose review is overdue."""
        return self.filter(review_after__lte=timezone.now())

    def newest_first(self) -> Self:
        return self.order_by("-updated_at", "-pk")


class KnowledgeDocument(SealedModel):
    """A file, page or upload. Each version of its text is a `KnowledgeText`."""

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        READY = "ready", _("parsed")
        FAILED = "failed", _("failed")

    # The progress of parsing is not part of the account's history.
    unsealed_fields = ("commit_id", "state", "error")

    source = SameAccountKey(KnowledgeSource, related_name="documents", verbose_name=_("source"))
    ref = models.CharField(_("path in source"), max_length=1000)
    title = models.CharField(_("title"), max_length=500, blank=True)
    mime = models.CharField(_("type"), max_length=100)
    url = models.TextField(_("address"), blank=True)
    sha256 = models.CharField(_("file digest"), max_length=64)
    size = models.BigIntegerField(_("bytes"))
    version = models.PositiveIntegerField(_("version"), default=0)  # 0: not parsed yet
    revision = models.CharField(_("revision"), max_length=200, blank=True)
    state = models.CharField(_("state"), max_length=7, choices=State.choices)
    error = models.CharField(_("failure reason"), max_length=500, blank=True)
    observed_at = models.DateTimeField(_("observed"))
    removed_at = models.DateTimeField(_("removed at"), null=True, blank=True)
    # Details that people maintain; new versions of the file leave them unchanged.
    tags = ArrayField(
        models.CharField(max_length=MAX_TAG_LENGTH),
        verbose_name=_("tags"),
        default=list,
        db_default=[],
        blank=True,
    )
    owner = models.CharField(_("owner"), max_length=50, blank=True, default="", db_default="")
    review_after = models.DateTimeField(_("stale after"), null=True, blank=True)
    reviewer = models.CharField(
        _("review requested from"), max_length=50, blank=True, default="", db_default=""
    )
    reviewed_at = models.DateTimeField(_("reviewed"), null=True, blank=True)
    created_by = models.CharField(_("written by"), max_length=50)
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))

    objects: ClassVar = DocumentQuerySet.as_manager()

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="document_in_account"),
            models.UniqueConstraint(
                fields=["account", "source", "ref"], name="one_document_per_place"
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "-updated_at", "-id"],
                condition=Q(state__in=("pending", "failed")),
                name="documents_unread",
            ),
            models.Index(fields=["account", "source", "-updated_at"], name="documents_of_source"),
            models.Index(
                fields=["account", "reviewer"],
                condition=~Q(reviewer=""),
                name="documents_to_review",
            ),
            models.Index(
                fields=["account", "review_after"],
                condition=Q(review_after__isnull=False),
                name="documents_by_review",
            ),
        ]

    def __str__(self) -> str:
        return self.title or self.ref

    @property
    def is_stale(self) -> bool:
        return bool(self.review_after and self.review_after <= timezone.now())

    @property
    def reason(self) -> str:
        """Return why parsing failed, in the reader's language."""
        return translate_failure(self.error)


class KnowledgeText(SealedModel):
    """The text of one version of a document, which citations quote."""

    document = SameAccountKey(KnowledgeDocument, related_name="texts", verbose_name=_("document"))
    version = models.PositiveIntegerField(_("version"))
    sha256 = models.CharField(_("text digest"), max_length=64)
    file_sha256 = models.CharField(_("file digest"), max_length=64)
    revision = models.CharField(_("revision"), max_length=200, blank=True)
    shape = models.CharField(_("structure"), max_length=10)
    language = models.CharField(_("programming language"), max_length=20, blank=True)
    text = models.TextField(_("text"))
    created_at = models.DateTimeField(_("created"))

    class Meta:
        verbose_name = _("text")
        verbose_name_plural = _("texts")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="text_in_account"),
            models.UniqueConstraint(
                fields=["account", "document", "version"], name="one_text_per_version"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document_id} v{self.version}"


class KnowledgePiece(AccountOwned):
    """A part of an original file that a parser reads. The document's digest covers it."""

    document = SameAccountKey(KnowledgeDocument, related_name="pieces", verbose_name=_("document"))
    number = models.PositiveIntegerField(_("number"))
    data = models.BinaryField(_("bytes"))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("file part")
        verbose_name_plural = _("file parts")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "document", "number"], name="one_piece_per_number"
            )
        ]

    def __str__(self) -> str:
        return f"{self.document_id} #{self.number}"


class ErasedKnowledge(Tombstone):
    """An erased row: its citations are answered with the commit that erased it."""

    class Meta:
        verbose_name = _("erased knowledge")
        verbose_name_plural = _("erased knowledge")


class ChunkQuerySet(AccountQuerySet["KnowledgeChunk"]):
    def of_index_version(self, index_version: str) -> Self:
        return self.filter(index_version=index_version)


class KnowledgeChunk(AccountOwned):
    """A slice of the current text of a document, made by one index version."""

    document = SameAccountKey(KnowledgeDocument, related_name="chunks", verbose_name=_("document"))
    text_row = SameAccountKey(
        KnowledgeText, on_delete=models.DO_NOTHING, related_name="+", verbose_name=_("source text")
    )
    index_version = models.CharField(_("index version"), max_length=10)
    chunk_index = models.PositiveIntegerField(_("number"))
    start = models.PositiveIntegerField(_("start offset"))
    end = models.PositiveIntegerField(_("end offset"))
    line_start = models.PositiveIntegerField(_("first line"))
    line_end = models.PositiveIntegerField(_("last line"))
    page = models.PositiveIntegerField(_("page"), null=True)
    headings = ArrayField(
        models.CharField(max_length=200), verbose_name=_("headings"), default=list
    )
    sha256 = models.CharField(_("digest"), max_length=64)
    text = models.TextField(_("text"))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    objects: ClassVar = ChunkQuerySet.as_manager()

    class Meta:
        verbose_name = _("chunk")
        verbose_name_plural = _("chunks")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "document", "index_version", "chunk_index"],
                name="one_chunk_per_number",
                deferrable=models.Deferrable.DEFERRED,
            )
        ]

    def __str__(self) -> str:
        return f"{self.document_id} #{self.chunk_index}"
