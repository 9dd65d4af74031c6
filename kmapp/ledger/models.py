"""Commits and what can be erased of them: salts, inputs and reasons."""

from typing import Any, ClassVar, Self

from django.db import models
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey
from kmapp.ledger.chain import Head, Link

CHANGE_KEYS = {"object", "op", "digest"}


class CommitQuerySet(AccountQuerySet["Commit"]):
    def at(self, head: Head) -> Self:
        return self.filter(seq=head.seq, commit_hash=head.commit_hash)

    def with_change_counts(self) -> Self:
        """Count the changes, of which there may be thousands, instead of loading them.

        `change_counts` lists the four most frequent: operation, type of the object, number. It is
        empty if the diff is not a list; a malformed change has null as its operation or type.
        """
        counts = RawSQL(
            """
            SELECT coalesce(
              jsonb_agg(jsonb_build_array(op, label, number) ORDER BY number DESC, place), '[]'
            )
            FROM (
              SELECT change->>'op' AS op, split_part(change->>'object', ':', 1) AS label,
                     count(*) AS number, min(ordinal) AS place
              FROM jsonb_array_elements(
                CASE jsonb_typeof(ledger_commit.diff) WHEN 'array' THEN ledger_commit.diff END
              ) WITH ORDINALITY AS c (change, ordinal)
              GROUP BY 1, 2 ORDER BY number DESC, place LIMIT 4
            ) AS counted
            """,
            (),
            output_field=models.JSONField(),
        )
        return self.defer("diff").annotate(change_counts=counts)

    def last_seq(self) -> int:
        return self.order_by("-seq").values_list("seq", flat=True).first() or 0


class Commit(AccountOwned):
    """One change of primary data. Append-only: a trigger refuses UPDATE and DELETE to everyone.

    `diff` is a list of {"object": "<app_label>.<model>:<uuid>", "op": …, "digest": …}; the digest
    is sha256(salt ‖ canonical body of the row after the change), or None after an ERASE. Without
    the salts it reveals nothing about the content.
    """

    format = models.PositiveSmallIntegerField(_("format"), default=1)
    seq = models.BigIntegerField(_("number"))
    parent_hash = models.CharField(_("parent hash"), max_length=64)
    commit_hash = models.CharField(_("commit hash"), max_length=64)
    actor = models.CharField(_("actor"), max_length=50)
    created_at = models.DateTimeField(_("time"))
    input_digest = models.CharField(_("input digest"), max_length=64)
    diff = models.JSONField(_("changes"))

    objects: ClassVar = CommitQuerySet.as_manager()

    class Meta:
        verbose_name = _("commit")
        verbose_name_plural = _("commits")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="commit_in_account"),
            models.UniqueConstraint(fields=["account", "seq"], name="one_commit_per_number"),
            models.UniqueConstraint(fields=["account", "parent_hash"], name="no_forks"),
        ]

    def __str__(self) -> str:
        return f"{self.seq} · {self.commit_hash[:8]}"

    def list_changes(self) -> list[dict[str, Any]]:
        """Return the changes without malformed ones, which only an edit in the database leaves."""
        changes = self.diff if isinstance(self.diff, list) else []
        return [each for each in changes if isinstance(each, dict) and each.keys() >= CHANGE_KEYS]

    def link(self) -> Link:
        return Link(
            format=self.format,
            id=self.pk,
            account=self.account_id,
            seq=self.seq,
            parent_hash=self.parent_hash,
            actor=self.actor,
            created_at=self.created_at,
            input_digest=self.input_digest,
            diff=self.diff,
        )


class Seal(AccountOwned):
    """The salt of one digest. Without it, the digest reveals nothing."""

    commit = models.ForeignKey(
        Commit,
        on_delete=models.PROTECT,
        related_name="seals",
        db_constraint=False,
        verbose_name=_("commit"),
    )
    object_type = models.CharField(_("object type"), max_length=50)
    object_id = models.UUIDField(_("object"))
    op = models.CharField(_("change"), max_length=20)
    salt = models.BinaryField(_("salt"), max_length=16)

    class Meta:
        verbose_name = _("seal")
        verbose_name_plural = _("seals")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "object_type", "object_id", "commit"],
                name="one_seal_per_object_and_commit",
            )
        ]

    def __str__(self) -> str:
        return f"{self.object_type}:{self.object_id} {self.op}"


class Note(AccountOwned):
    """The input and the reason of a commit, with the salt of their digest.

    `input_digest` of the commit is sha256(salt ‖ canonical {"input": …, "reason": …}). Erasing
    empties the row.
    """

    commit = models.OneToOneField(
        Commit,
        on_delete=models.PROTECT,
        related_name="note",
        db_constraint=False,
        verbose_name=_("commit"),
    )
    salt = models.BinaryField(_("salt"), max_length=16, null=True)
    input = models.JSONField(_("input"), null=True)
    reason = models.TextField(_("reason"), blank=True)

    class Meta:
        verbose_name = _("note")
        verbose_name_plural = _("notes")

    def __str__(self) -> str:
        return self.reason[:50]


class Checkpoint(AccountOwned):
    """A copy of a signed head of a chain. The original is in a file outside the database."""

    seq = models.BigIntegerField(_("number"))
    commit_hash = models.CharField(_("commit hash"), max_length=64)
    created_at = models.DateTimeField(_("time"))
    signature = models.CharField(_("signature"), max_length=128)
    key_id = models.CharField(_("signing key"), max_length=64)

    class Meta:
        verbose_name = _("checkpoint")
        verbose_name_plural = _("checkpoints")
        indexes = [models.Index(fields=["account", "-seq"], name="checkpoints_newest_first")]

    def __str__(self) -> str:
        return f"{self.seq} · {self.commit_hash[:8]}"


class Mismatch(AccountOwned):
    """A row that differs from its seal, found when an agent would have got it."""

    class Reason(models.TextChoices):
        CHANGED = "changed", _("Differs from its sealed state")
        OUTDATED = "outdated", _("Is an older state")
        UNSEALED = "unsealed", _("Was never sealed")
        COMMIT = "commit", _("Its commit is not part of the chain")

    object_type = models.CharField(_("object type"), max_length=50)
    object_id = models.UUIDField(_("object"))
    reason = models.CharField(_("reason"), max_length=10, choices=Reason.choices)
    first_seen_at = models.DateTimeField(_("first found"))
    last_seen_at = models.DateTimeField(_("last found"))

    class Meta:
        verbose_name = _("mismatch")
        verbose_name_plural = _("mismatches")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "object_type", "object_id"], name="one_mismatch_per_object"
            )
        ]

    def __str__(self) -> str:
        return f"{self.object_type}:{self.object_id} {self.reason}"


class Sealed(AccountOwned):
    """A row that a commit wrote in addition to the rows that it sealed."""

    commit = SameAccountKey(
        Commit, on_delete=models.PROTECT, related_name="+", verbose_name=_("commit")
    )

    class Meta:
        abstract = True


class State(Sealed):
    """One state of an object as its commit sealed it. Subclasses name the object and the event."""

    version = models.PositiveIntegerField(_("version"))
    state = models.JSONField(_("state"))
    actor = models.CharField(_("actor"), max_length=50)
    reason = models.TextField(_("reason"), blank=True)
    created_at = models.DateTimeField(_("time"))

    class Meta:
        abstract = True


class Tombstone(Sealed):
    """An erased object and the commit that erased it. Its id is not used again."""

    erased_at = models.DateTimeField(_("erased"))

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.pk)
