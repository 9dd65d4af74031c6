"""Creation and update of sources."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.errors import Conflict, Denied, Invalid
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.read_verification import require_sealed
from kmapp.security.prompt_injection.confusables import compute_skeleton
from knowledge.models import KnowledgeSource
from knowledge.retrieval.cache_version import invalidate_cache

Kind, Trust = KnowledgeSource.Kind, KnowledgeSource.Trust
DEFAULT_TRUST = {Kind.REPO_DOCS: Trust.TRUSTED, Kind.LOREBOOK: Trust.SEMI_TRUSTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """Fields of a source. Fields that are left out keep their values or get the defaults."""

    name: str
    kind: str = ""
    trust: str = ""
    scope: str = ""
    ref: str | None = None
    revision: str | None = None


def find_source(account_id: UUID, name: str) -> KnowledgeSource | None:
    return KnowledgeSource.objects.of(account_id).filter(scope="", name=name).first()


def lock_source(account_id: UUID, pk: UUID) -> KnowledgeSource | None:
    """Lock and return a source, which takes one delivery at a time; None if it was erased."""
    rows = KnowledgeSource.objects.of(account_id).select_for_update(no_key=True)
    return rows.with_verify_on_read(account_id).filter(pk=pk).first()


def lock_source_of(account_id: UUID, document_id: UUID) -> None:
    """Lock the source of a document. Lock the document after it, as deliveries do."""
    rows = KnowledgeSource.objects.of(account_id).select_for_update(no_key=True, of=("self",))
    rows.filter(documents__pk=document_id).first()


def ensure_source(
    account_id: UUID,
    actor: Actor,
    source_input: NewSource,
    *,
    may_trust: bool = True,
    commit: Recording | None = None,
) -> KnowledgeSource:
    """Return the source with this name, created or updated. Inside `acting`.

    Without `may_trust` the source must be untrusted, because documents get the trust of their
    source. Pass the `commit` of a larger change, so that the ledger is locked only at its end.
    """
    with recording(account_id, actor, within=commit) as own:
        try:
            return _create_or_update(own, source_input, may_trust=may_trust)
        except IntegrityError:  # created by another transaction after the lookup
            return _create_or_update(own, source_input, may_trust=may_trust)


def check_source(
    account_id: UUID, actor: Actor, source_input: NewSource, *, may_trust: bool = True
) -> KnowledgeSource:
    """Return the source for documents as `ensure_source` would store it, but store nothing.

    A later step may refuse the documents, so the source is stored only together with them.
    """
    unwritten = Recording(account_id=account_id, actor=actor, input=None, reason="")
    with transaction.atomic():
        source = ensure_source(
            account_id, actor, source_input, may_trust=may_trust, commit=unwritten
        )
        check_accepts_documents(source)
        transaction.set_rollback(True)
    return source


def _create_or_update(
    commit: Recording, source_input: NewSource, *, may_trust: bool
) -> KnowledgeSource:
    account_id = commit.account_id
    rows = KnowledgeSource.objects.of(account_id).with_verify_on_read(account_id)
    rows = rows.select_for_update(no_key=True)
    source = rows.filter(scope=source_input.scope, name=source_input.name).first()
    if not may_trust:
        source_input = replace(source_input, trust=_require_untrusted(source_input, source))
    if source is None:
        if not may_trust:
            _check_look_alike(account_id, source_input)
        return _create(commit, source_input)
    if source_input.kind and source_input.kind != source.kind:
        raise Conflict(
            f"The kind of “{source.name}” is {source.kind}. Choose another name, or leave kind out."
        )
    values = {
        "trust": source_input.trust or None,
        "ref": source_input.ref,
        "revision": source_input.revision,
    }
    _update(source, {name: value for name, value in values.items() if value is not None}, commit)
    return source


def check_accepts_documents(source: KnowledgeSource) -> None:
    """Refuse documents for a lorebook, because no page would show them."""
    if source.kind == Kind.LOREBOOK:
        raise Conflict(
            _("“%(name)s” is a lorebook and cannot hold documents. Choose another source name.")
            % {"name": source.name}
        )


def _require_untrusted(source_input: NewSource, source: KnowledgeSource | None) -> str:
    trust_levels = (source_input.trust, source.trust if source else "")
    if any(each not in ("", Trust.UNTRUSTED) for each in trust_levels):
        raise Denied(
            "Delivering to a trusted source requires a key with the scope knowledge:trust. Use "
            f"such a key, or choose another name than “{source_input.name}” and leave trust out.",
            code="missing_scope",
        )
    return Trust.UNTRUSTED


def _check_look_alike(account_id: UUID, source_input: NewSource) -> None:
    """Refuse names that look like that of a trusted source, or equal one in another scope."""
    others = KnowledgeSource.objects.of(account_id).exclude(trust=Trust.UNTRUSTED)
    own = compute_skeleton(source_input.name)
    names = others.order_by("name").values_list("name", flat=True)
    if imitated := next((each for each in names if compute_skeleton(each) == own), ""):
        raise Conflict(
            f"“{source_input.name}” is too similar to the trusted source “{imitated}”. "
            "Choose another name.",
            code="look_alike",
        )


def _create(commit: Recording, source_input: NewSource) -> KnowledgeSource:
    if not source_input.name.strip():
        raise Invalid(
            "A source needs a name.", issues=[{"path": "source.name", "message": "is empty"}]
        )
    kind, now = Kind(source_input.kind or Kind.FILE_SET), timezone.now()
    source = KnowledgeSource(
        account_id=commit.account_id,
        commit_id=commit.id,
        name=source_input.name,
        kind=kind,
        trust=source_input.trust or DEFAULT_TRUST.get(kind, Trust.UNTRUSTED),
        scope=source_input.scope,
        ref=source_input.ref or "",
        revision=source_input.revision or "",
        created_by=str(commit.actor),
        created_at=now,
        updated_at=now,
    )
    with transaction.atomic():
        source.save(force_insert=True)
    commit.add(source, "ADD")
    source.is_new = True
    return source


def change_source(source: KnowledgeSource, actor: Actor, values: Mapping[str, Any]) -> None:
    """Update the fields that differ, in one commit.

    Lock the source first: the commit seals all its fields, of which a stale row has old values.
    """
    with recording(source.account_id, actor) as commit:
        _update(source, values, commit)


def _update(source: KnowledgeSource, values: Mapping[str, Any], commit: Recording) -> None:
    changed = {name: value for name, value in values.items() if getattr(source, name) != value}
    if not changed:
        return
    require_sealed(
        [source],
        _(
            "This source differs from its sealed state, so it cannot be changed. Restore its row "
            "in the database, or erase the source."
        ),
    )
    for name, value in changed.items():
        setattr(source, name, value)
    source.updated_at, source.commit_id = timezone.now(), commit.id
    source.save(update_fields=[*changed, "updated_at", "commit"])
    commit.add(source, "UPDATE")
    invalidate_cache(source.account_id)  # searches filter by trust, name and scope
