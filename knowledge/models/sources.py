"""Sources of documents and their trust."""

from typing import ClassVar, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Count, Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountQuerySet, SealedModel
from kmapp.search.variants import DEFAULT_VARIANT


class SourceQuerySet(AccountQuerySet["KnowledgeSource"]):
    def of_documents(self) -> Self:
        return self.exclude(kind=KnowledgeSource.Kind.LOREBOOK)

    def lorebooks(self) -> Self:
        return self.filter(kind=KnowledgeSource.Kind.LOREBOOK)

    def by_name(self) -> Self:
        return self.order_by("name", "pk")

    def after(self, name: str, pk: UUID) -> Self:
        """Return the sources after this position, in the order of `by_name`."""
        return self.filter(Q(name__gt=name) | Q(name=name, pk__gt=pk))

    def with_document_counts(self) -> Self:
        """Annotate the number of documents by state."""
        present = Q(documents__removed_at=None)
        return self.annotate(
            number=Count("documents", filter=present),
            waiting=Count("documents", filter=present & Q(documents__state="pending")),
            failed=Count("documents", filter=present & Q(documents__state="failed")),
        )


def default_indexes() -> list[str]:
    return [DEFAULT_VARIANT.index_version]


class KnowledgeSource(SealedModel):
    """A set of documents of one origin: a repository, a folder, uploads or a lorebook."""

    class Kind(models.TextChoices):
        REPO_DOCS = "repo_docs", _("repository")
        FILE_SET = "file_set", _("files")
        UPLOAD = "upload", _("uploads")
        WEB_SNAPSHOT = "web_snapshot", _("web pages")
        LOREBOOK = "lorebook", _("lorebook")

    class Trust(models.TextChoices):
        TRUSTED = "trusted", _("trusted")
        SEMI_TRUSTED = "semi_trusted", _("semi-trusted")
        UNTRUSTED = "untrusted", _("untrusted")

    unsealed_fields = ("commit_id", "refreshed_at")

    name = models.CharField(_("name"), max_length=200)
    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices)
    trust = models.CharField(_("trust"), max_length=12, choices=Trust.choices)
    scope = models.CharField(_("scope"), max_length=200, blank=True)
    ref = models.TextField(_("location"), blank=True)
    revision = models.CharField(_("revision"), max_length=200, blank=True)
    # Its texts are chunked with each of these versions.
    index_versions = ArrayField(
        models.CharField(max_length=10), verbose_name=_("index versions"), default=default_indexes
    )
    created_by = models.CharField(_("created by"), max_length=50)
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))
    refreshed_at = models.DateTimeField(_("last synced"), null=True, blank=True)

    objects: ClassVar = SourceQuerySet.as_manager()

    is_new = False  # True if it was created by this request
    number: int  # annotations of `with_document_counts`
    waiting: int
    failed: int

    class Meta:
        verbose_name = _("source")
        verbose_name_plural = _("sources")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="source_in_account"),
            models.UniqueConstraint(
                fields=["account", "scope", "name"], name="one_source_per_name"
            ),
        ]

    def __str__(self) -> str:
        return self.name
