"""Changes of an account's settings: values, validation, and the commit with previous values."""

from collections.abc import Collection, Mapping
from typing import Any

from django.core.exceptions import ValidationError

from kmapp.accounts.models import Account, SealedModel
from kmapp.errors import Invalid, list_issues
from kmapp.ledger.actions import Recording

ChangedValues = dict[str, tuple[Any, Any]]  # the previous and the new value by name


def assign_values(row: SealedModel | Account, values: Mapping[str, Any]) -> ChangedValues:
    """Set the values that differ from those of the row. The order of a list has no meaning."""
    changed = {}
    for name, value in values.items():
        before = getattr(row, name)
        after = sorted(value) if isinstance(before, list) else value
        if (sorted(before) if isinstance(before, list) else before) != after:
            changed[name] = (before, after)
            setattr(row, name, after)
    return changed


def validate_fields(rows: Collection[SealedModel | Account], message: str) -> None:
    """Raise Invalid with this message if a value is not valid."""
    try:
        for row in rows:
            # The commit of a sealed row is not written yet.
            row.clean_fields(exclude=() if isinstance(row, Account) else ("account", "commit"))
    except ValidationError as error:
        raise Invalid(message, issues=list_issues(error.message_dict)) from error


def build_changes_input(key: str, changed: ChangedValues) -> dict[str, Any]:
    """Return the input of the commit, from which pages list the history of the settings."""
    return {key: {name: {"before": old, "after": new} for name, (old, new) in changed.items()}}


def save_settings(row: Any, commit: Recording) -> None:
    """Save a row of settings as its next version. Version 0 is a row that is not stored yet."""
    op = "UPDATE" if row.version else "ADD"
    row.version += 1
    row.commit_id = commit.id
    row.save(force_insert=op == "ADD", force_update=op == "UPDATE")
    commit.add(row, op)
