"""Memories and their visibility."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import OuterRef, Q, Value
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountQuerySet, SealedModel
from kmapp.search.models import Vector

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

COLLECTION = "memory"  # postings and vectors of entries
COLD = frozenset({"cold", "archive"})  # tiers without vectors
CONTEXT_COLLECTION = "memory.context"  # vectors of entries embedded with their predecessor
MIN_HALF_LIFE_DAYS = 0.01  # of new memories; an imported one may have less, which counts as this
OWNER_IDS = ("user_id", "agent_id", "app_id", "run_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """The ids of a reader. A given id narrows the result; an empty one does not filter."""

    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""
    run_id: str = ""
    scope: str | None = None


def owner_of(source: Any) -> dict[str, Any]:
    """Return the owner's ids and the scope of a row, a viewer or an input."""
    return {name: getattr(source, name) or "" for name in (*OWNER_IDS, "scope")}


class EntryQuerySet(AccountQuerySet["MemoryEntry"]):
    def awaiting_review(self) -> Self:
        return self.filter(status=MemoryEntry.Status.PROPOSED).order_by("created_at", "pk")

    def current(self, at: datetime | None = None) -> Self:
        """Return active memories that are valid and not expired."""
        now = Value(at, models.DateTimeField()) if at else Now()
        return self.filter(
            Q(expires_at=None) | Q(expires_at__gt=now),
            Q(valid_from=None) | Q(valid_from__lte=now),
            Q(valid_to=None) | Q(valid_to__gt=now),
            status=MemoryEntry.Status.ACTIVE,
        )

    def current_or_written_by(self, writer: str, at: datetime | None = None) -> Self:
        """Return visible memories and those written by this key."""
        return self.current(at) | self.filter(created_by=writer)

    def visible_to(self, viewer: Viewer) -> Self:
        """Return account-wide entries, and those with the ids of the viewer.

        Every id of the viewer narrows the entries that are not account-wide. Entries of a
        conversation are visible inside it only. An entry of a user or agent needs that id, because
        two users may give a run the same name.
        """
        own = _build_own_condition(viewer)
        return self._in_scope(viewer).filter(EVERYONE | own if own else EVERYONE)

    def visible_parts(self, viewer: Viewer) -> list[Self]:
        """Return the rows of `visible_to` as disjoint parts, each of which has an index."""
        rows, own = self._in_scope(viewer), _build_own_condition(viewer)
        everyone = rows.filter(EVERYONE)
        return [everyone, rows.filter(own, ~EVERYONE)] if own else [everyone]

    def _in_scope(self, viewer: Viewer) -> Self:
        return self if viewer.scope is None else self.filter(scope=viewer.scope)

    def with_embedding_state(self, model_id: int) -> Self:
        """Annotate what `embedding_state` reads, derived from the vectors of one model."""
        mine = Vector.objects.filter(
            account_id=OuterRef("account_id"),
            collection=COLLECTION,
            object_id=OuterRef("pk"),
            model_id=model_id,
        )
        # The worst state of the parts is the first in alphabetical order. With EXISTS instead of
        # subqueries, the planner would first hash all vectors of the account.
        ready = mine.filter(part=0, state=Vector.State.READY).values("ready_at")[:1]
        return self.annotate(
            embedding_ready_at=models.Subquery(ready),
            embedding_worst=models.Subquery(mine.order_by("state").values("state")[:1]),
        )


EVERYONE = Q(visibility="account")


def list_reader_groups(viewer: Viewer) -> tuple[str, ...] | None:
    """Return reader groups with all current memories that a viewer sees, or None if there are none.

    Triggers of migration 0006 keep the group of each memory in the search index. An agent, app or
    run without a user sees memories of many users, so that no groups contain all of them.
    """
    if viewer.user_id:
        return "everyone", f"user:{viewer.user_id}"
    return None if viewer.agent_id or viewer.app_id or viewer.run_id else ("everyone",)


def _build_own_condition(viewer: Viewer) -> Q | None:
    """Return the condition on entries that only viewers with these ids can see."""
    ids = {name: value for name in OWNER_IDS if (value := getattr(viewer, name))}
    if not ids:
        return None
    own = Q(**ids)
    conversation = Q(visibility=MemoryEntry.Visibility.CONVERSATION)
    if not viewer.user_id:
        own &= Q(user_id="") | conversation
    if not (viewer.user_id or viewer.agent_id):
        own &= Q(agent_id="") | conversation
    if not viewer.run_id:
        own &= ~conversation
    return own


def unit_interval_field(label: "StrOrPromise", default: float) -> "models.FloatField[float, float]":
    return models.FloatField(
        label, default=default, validators=[MinValueValidator(0), MaxValueValidator(1)]
    )


class MemoryEntry(SealedModel):
    """A memory. Search by words finds it immediately, search by meaning once it is embedded."""

    class Kind(models.TextChoices):
        FACT = "fact", _("fact")
        PREFERENCE = "preference", _("preference")
        SKILL = "skill", _("skill")
        PATTERN = "pattern", _("pattern")
        CONTEXT = "context", _("context")
        PROJECT_STATE = "project_state", _("project state")
        SUMMARY = "summary", _("summary")
        BOOKMARK = "bookmark", _("bookmark")
        PROCEDURE = "procedure", _("procedure")
        EVENT = "event", _("event")
        ENTITY = "entity", _("entity")
        TOPIC = "topic", _("topic")
        CONCEPT = "concept", _("concept")
        EVIDENCE = "evidence", _("evidence")
        SELF_MODEL = "self_model", _("self model")

    class Status(models.TextChoices):
        PROPOSED = "proposed", _("proposed")
        ACTIVE = "active", _("active")
        SUPERSEDED = "superseded", _("superseded")
        REJECTED = "rejected", _("rejected")
        FORGOTTEN = "forgotten", _("forgotten")
        DRAFT = "draft", _("draft")  # a topic with too few members

    class Visibility(models.TextChoices):
        CONVERSATION = "conversation", _("this conversation")
        USER = "user", _("this user")
        ACCOUNT = "account", _("everyone")

    class Tier(models.TextChoices):
        HOT = "hot", _("hot")
        WARM = "warm", _("warm")
        COLD = "cold", _("cold")
        ARCHIVE = "archive", _("archive")

    unsealed_fields = ("commit_id", "access_count", "last_accessed_at", "last_activated_at")

    scope = models.CharField(_("scope"), max_length=200, blank=True)
    client_id = models.CharField(_("client id"), max_length=200, null=True, blank=True)  # noqa: DJ001
    # The first commit; `commit` is the latest. It determines the order inside a run.
    written_in = models.UUIDField(_("written in"), editable=False)
    written_sha256 = models.CharField(max_length=64, blank=True, editable=False)
    user_id = models.CharField(_("user"), max_length=200, blank=True)
    agent_id = models.CharField(_("agent"), max_length=200, blank=True)
    app_id = models.CharField(_("app"), max_length=200, blank=True)
    run_id = models.CharField(_("run"), max_length=200, blank=True)
    visibility = models.CharField(_("visible to"), max_length=12, choices=Visibility.choices)
    kind = models.CharField(_("kind"), max_length=15, choices=Kind.choices)
    title = models.CharField(_("title"), max_length=500, blank=True)
    content = models.TextField(_("content"))
    slots = models.JSONField(_("metadata"), default=dict, blank=True)
    tags = ArrayField(models.CharField(max_length=100), verbose_name=_("tags"), default=list)
    entities = ArrayField(
        models.CharField(max_length=200), verbose_name=_("entities"), default=list
    )
    sources = models.JSONField(_("sources"), default=list)
    raw_ref = models.TextField(_("raw reference"), blank=True)
    evidence_ref = models.TextField(_("evidence reference"), blank=True)
    flags = ArrayField(models.CharField(max_length=30), verbose_name=_("flags"), default=list)
    importance = unit_interval_field(_("importance"), 0.5)
    confidence = unit_interval_field(_("confidence"), 1.0)
    salience = unit_interval_field(_("salience"), 0.5)
    half_life_days = models.FloatField(_("half-life in days"), null=True, blank=True)
    tier = models.CharField(_("tier"), max_length=7, choices=Tier.choices, default=Tier.HOT)
    pinned = models.BooleanField(_("pinned"), default=False)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices)
    observed_at = models.DateTimeField(_("observed"))
    valid_from = models.DateTimeField(_("valid from"), null=True, blank=True)
    valid_to = models.DateTimeField(_("valid until"), null=True, blank=True)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    position = models.PositiveIntegerField(_("position in batch"), default=0)
    version = models.PositiveIntegerField(_("version"), default=1)
    created_by = models.CharField(_("written by"), max_length=50)
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))
    access_count = models.PositiveIntegerField(_("recalls"), default=0)
    last_accessed_at = models.DateTimeField(_("last recalled"), null=True, blank=True)
    last_activated_at = models.DateTimeField(_("last activated"), null=True, blank=True)

    objects: ClassVar = EntryQuerySet.as_manager()

    class Meta:
        verbose_name = _("memory")
        verbose_name_plural = _("memories")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="entry_in_account"),
            models.UniqueConstraint(
                fields=["account", "scope", "client_id"], name="one_entry_per_client_id"
            ),
            *(
                models.CheckConstraint(
                    condition=Q(**{f"{name}__gte": 0, f"{name}__lte": 1}),
                    name=f"{name}_between_0_and_1",
                )
                for name in ("importance", "confidence", "salience")
            ),
        ]
        indexes = [
            models.Index(fields=["account", "user_id", "status"], name="entries_of_user"),
            models.Index(fields=["account", "run_id", "observed_at"], name="entries_of_run"),
            models.Index(
                fields=["account", "status"],
                include=["id", "expires_at", "valid_from", "valid_to"],  # for index-only scans
                condition=EVERYONE,
                name="entries_visible_to_all",
            ),
            models.Index(fields=["account", "agent_id", "status"], name="entries_of_agent"),
            models.Index(fields=["account", "status", "created_at"], name="entries_by_status"),
            models.Index(fields=["account", "-created_at", "-id"], name="entries_newest_first"),
            # Orders of the list of memories. An index of recalls would change with each recall.
            models.Index(fields=["account", "-updated_at", "-id"], name="entries_last_updated"),
            models.Index(fields=["account", "-observed_at", "-id"], name="entries_last_observed"),
            models.Index(fields=["account", "-importance", "-id"], name="entries_most_important"),
            models.Index(fields=["account", "written_sha256"], name="entries_by_body"),
            models.Index(fields=["account", "status"], condition=Q(kind="topic"), name="topics"),
            models.Index(fields=["account", "created_by", "created_at"], name="entries_by_writer"),
        ]

    embedding_ready_at: datetime | None  # set by with_embedding_state
    embedding_worst: str | None

    def __str__(self) -> str:
        return self.title or self.content[:60]

    @classmethod
    def label_value(cls, name: str, value: Any) -> Any:
        """Return the label of a stored value of a field with choices; another value as it is."""
        choices: Mapping[str, type[models.TextChoices]] = {
            "kind": cls.Kind,
            "status": cls.Status,
            "visibility": cls.Visibility,
            "tier": cls.Tier,
        }
        if name not in choices or not isinstance(value, str):
            return value
        return dict(choices[name].choices).get(value, value)

    @property
    def kind_label(self) -> "StrOrPromise":
        """Return `get_kind_display()` without translating all kinds, for long lists."""
        return dict(self.Kind.choices).get(self.kind, self.kind)

    @property
    def is_cold(self) -> bool:
        """Return whether the memory has no vectors until it is recalled."""
        return self.tier in COLD

    @property
    def embedding_state(self) -> str:
        """Return READY, FAILED or PENDING, or COLD or NONE if no vector is expected.

        The queryset must use `with_embedding_state`.
        """
        return self.embedding_worst or ("COLD" if self.is_cold else "NONE")
