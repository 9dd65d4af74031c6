"""Rule settings of an account: the evidence gate and second approval."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.pii_redaction import redact_reason
from kmapp.errors import Conflict
from kmapp.ledger.actions import recording
from kmapp.ledger.save_settings import (
    ChangedValues,
    assign_values,
    build_changes_input,
    validate_fields,
)
from rules.models import RuleBook

CHANGEABLE = ("min_seen", "min_changed", "max_against", "second_person", "decision_days")
INPUT_KEY = "gate"  # key of the changes in the input of their commit


def change_settings(
    account_id: UUID,
    values: Mapping[str, Any],
    *,
    actor: Actor,
    seen: UUID | None = None,
    reason: str = "",
) -> ChangedValues:
    """Change settings. Return the previous and the new value by name.

    `seen` is the commit of the settings that the person saw; a later one is a conflict.
    """
    existing = RuleBook.objects.of(account_id).select_for_update().first()
    book = existing or RuleBook(account_id=account_id)
    if seen and seen != book.commit_id:
        raise Conflict(
            _(
                "Someone changed the evidence gate after you opened this page. Check the "
                "settings and save again."
            ),
            code="stale_version",
        )
    changed = assign_values(book, {name: values[name] for name in CHANGEABLE if name in values})
    validate_fields(
        [book], _("The evidence gate was not changed. Check the values and save again.")
    )
    if not changed:
        return {}
    redacted, changes = redact_reason(account_id, reason), build_changes_input(INPUT_KEY, changed)
    try:
        with (
            transaction.atomic(),
            recording(account_id, actor, input=changes, reason=redacted) as commit,
        ):
            book.commit_id = commit.id
            if existing:
                book.save(update_fields=[*changed, "commit"])
            else:
                book.save(force_insert=True)
            commit.add(book, "UPDATE" if existing else "ADD")
    except IntegrityError as error:
        raise Conflict(_("Someone else changed this at the same time. Try again.")) from error
    return changed
