"""Chunks: the unit of search. Derived from texts and rebuilt when these change."""

from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey
from knowledge.models.documents import KnowledgeDocument, KnowledgeText


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
