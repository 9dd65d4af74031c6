"""Archived tool results, stored whole and loaded by id."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self
from uuid import UUID, uuid5

from django.db import models
from django.db.models import Q
from django.db.models.expressions import Combinable
from django.utils.translation import gettext_lazy as _

from context.archives.placeholders import MAX_SOURCES, Archived
from kmapp.accounts.models import AccountQuerySet, M, SealedModel
from kmapp.database.keyed_digests import keyed_digest, keyed_digests
from kmapp.errors import NotFound

COLLECTION = "context.archive"  # of term postings and of passage vectors
SCOPE_FIELDS = ("conversation_id", "thread_id", "user_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveScope:
    """Filter of archives by their origin. Empty ids do not filter."""

    conversation_id: str = ""
    thread_id: str = ""
    user_id: str = ""
    tool_name: str = ""

    def ids(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in SCOPE_FIELDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResult:
    """The result of a tool call. Empty strings are missing values."""

    text: str
    tool_name: str
    tool_input: Any = None
    tool_call_id: str = ""
    conversation_id: str = ""
    thread_id: str = ""
    user_id: str = ""
    agent_id: str = ""
    sources: Sequence[str] = ()
    language: str = ""

    def key_in(self, account_id: UUID) -> UUID:
        """Return its id, which is equal for the same result of the same call."""
        owner = (self.conversation_id, self.thread_id, self.user_id)
        content = (self.tool_name, self.tool_call_id, sent_sha256(account_id, self.text))
        return uuid5(account_id, "\x1f".join([*owner, *content]))


def sent_sha256(account_id: UUID, text: str) -> str:
    """Return a keyed digest of the original text, from which redacted text cannot be guessed."""
    return keyed_digest(_purpose(account_id), text)


def list_sent_digests(account_id: UUID, text: str) -> list[str]:
    """Return the digests of `sent_sha256` with all secrets, the present one first."""
    return list(keyed_digests(_purpose(account_id), text))


def _purpose(account_id: UUID) -> str:
    return f"context.archive.{account_id}"


class NewestFirstQuerySet(AccountQuerySet[M]):
    def after(self, last: UUID, *, account_id: UUID) -> Self:
        """Return the rows that follow this one, newest first. Raise NotFound if it is gone."""
        rows = type(self)(self.model).of(account_id).filter(pk=last)
        created_at = rows.values_list("created_at", flat=True).first()
        if created_at is None:  # an empty page would look like the last one
            raise NotFound("The last row of the previous page is gone. Start again without before.")
        return self.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, pk__lt=last))


class ArchiveQuerySet(NewestFirstQuerySet["ToolResultArchive"]):
    def in_scope(self, within: ArchiveScope) -> Self:
        names = ("conversation_id", "thread_id", "tool_name")
        ids = {name: value for name in names if (value := getattr(within, name))}
        rows = self.filter(**ids)
        # Results without a user are visible to every user.
        return rows.filter(user_id__in=("", within.user_id)) if within.user_id else rows

    def older_than(self, moment: datetime | Combinable) -> Self:
        return self.filter(created_at__lt=moment).order_by("created_at", "pk")

    def briefly(self) -> Self:
        return self.defer("result_full", "tool_input")


class ExtractiveReason(models.TextChoices):
    """Why a summary quotes the text. Empty if the chat model wrote it."""

    NO_CHAT_MODEL = "no_chat_model", _("No chat model is configured")
    WAITING = "waiting", _("The chat model has not responded yet")
    BAD_ANSWER = "bad_answer", _("The chat model did not return a usable summary")
    FAILED = "failed", _("The chat model failed")
    GONE = "gone", _("The summarized content is no longer stored")


class ToolResultArchive(SealedModel):
    unsealed_fields = ("commit_id", "load_count", "last_loaded_at", "extractive")

    conversation_id = models.CharField(_("conversation"), max_length=200, blank=True)
    thread_id = models.CharField(_("thread"), max_length=200, blank=True)
    user_id = models.CharField(_("user"), max_length=200, blank=True)
    agent_id = models.CharField(_("agent"), max_length=200, blank=True)
    tool_call_id = models.CharField(_("tool call"), max_length=200, blank=True)
    tool_name = models.CharField(_("tool"), max_length=100)
    tool_input = models.JSONField(_("tool input"), null=True, blank=True)
    query_summary = models.CharField(_("query"), max_length=500, blank=True)
    result_summary = models.TextField(_("summary"), blank=True)
    summary_by = models.CharField(_("summary model"), max_length=200, blank=True)
    extractive = models.CharField(
        _("reason for an extractive summary"),
        max_length=20,
        choices=ExtractiveReason.choices,
        blank=True,
    )
    result_full = models.TextField(_("result"))
    result_length = models.PositiveIntegerField(_("characters"))
    sources = models.JSONField(_("sources"), default=list)
    sha256 = models.CharField(_("SHA-256"), max_length=64)
    # Keyed digest of the original result, to recognise it when it is sent again.
    sent_sha256 = models.CharField(max_length=64, editable=False)
    language = models.CharField(_("language"), max_length=10)
    created_by = models.CharField(_("written by"), max_length=50)
    created_at = models.DateTimeField(_("created"))
    load_count = models.PositiveIntegerField(_("load count"), default=0)
    last_loaded_at = models.DateTimeField(_("last loaded"), null=True, blank=True)

    objects: ClassVar = ArchiveQuerySet.as_manager()

    class Meta:
        verbose_name = _("tool result")
        verbose_name_plural = _("tool results")
        constraints = [models.UniqueConstraint(fields=["account", "id"], name="archive_in_account")]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="archives_newest_first"),
            models.Index(fields=["account", "conversation_id"], name="archives_of_conversation"),
            models.Index(fields=["account", "thread_id"], name="archives_of_thread"),
            models.Index(fields=["account", "tool_name"], name="archives_of_tool"),
            models.Index(fields=["account", "sent_sha256"], name="archives_as_sent"),
            models.Index(fields=["account", "sha256"], name="archives_as_kept"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name}: {self.query_summary[:60]}"

    def lookup_keys(self) -> list[str]:
        """Return the lookup keys by which parts of calls refer to this archive."""
        stored = list_sent_digests(self.account_id, self.result_full)
        return [str(self.pk), self.sent_sha256, *stored]

    def to_placeholder(self) -> Archived:
        return Archived(
            uuid=self.pk,
            tool_name=self.tool_name,
            query=self.query_summary,
            time=self.created_at.strftime("%Y-%m-%d %H:%M:%S"),
            length=self.result_length,
            summary=self.result_summary,
            sources=tuple(map(str, self.sources[:MAX_SOURCES])),
        )
