"""Four roles. Those who were reviewers become editors, who may do what reviewers could do so far."""

from os import urandom
from typing import Any
from uuid import UUID

from django.db import migrations, models
from django.utils import timezone

from kmapp.accounts.models import sealed_columns
from kmapp.database.advisory_locks import ADVISORY_LOCK_SQL
from kmapp.database.ids import uuid7
from kmapp.ledger.canonical import SALT_BYTES, digest
from kmapp.ledger.chain import EMPTY_CHAIN_HEAD, Link, compute_commit_hash

MEMBERSHIP = "accounts.membership"
CONTENTS = {"input": None, "reason": "Reviewers became editors: the same rights under a new name."}
ROLES = [("viewer", "Viewer"), ("reviewer", "Reviewer"), ("editor", "Editor"), ("admin", "Admin")]


def make_editors(apps: Any, schema_editor: Any) -> None:
    """Change the role of all reviewers, in one commit for each account.

    The rows are written with the models of this migration, because later models may have columns
    that do not exist yet. The format of commits does not change.
    """
    database = schema_editor.connection
    reviewers = apps.get_model("accounts", "Membership").objects.using(database.alias)
    reviewers = reviewers.filter(role="reviewer").order_by("account_id", "id")
    for account_id in list(reviewers.values_list("account_id", flat=True).distinct()):
        with database.cursor() as cursor:
            cursor.execute(ADVISORY_LOCK_SQL, [f"ledger:{account_id}"])
        _seal(apps, database.alias, account_id, list(reviewers.filter(account_id=account_id)))


def _seal(apps: Any, alias: str, account_id: UUID, members: list[Any]) -> None:
    commits, seals, notes = (
        apps.get_model("ledger", name).objects.using(alias) for name in ("Commit", "Seal", "Note")
    )
    common = {"account_id": account_id, "commit_id": uuid7()}
    diff = []
    for member in members:
        member.role, member.commit_id = "editor", common["commit_id"]
        member.save(using=alias, update_fields=["role", "commit"])
        salt = urandom(SALT_BYTES)
        seal = {"object_type": MEMBERSHIP, "object_id": member.pk, "op": "UPDATE", "salt": salt}
        seals.create(**common, **seal, id=uuid7())
        sealed = digest(salt, sealed_columns(member, ("commit_id",)))
        diff.append({"object": f"{MEMBERSHIP}:{member.pk}", "op": "UPDATE", "digest": sealed})
    salt = urandom(SALT_BYTES)
    notes.create(**common, **CONTENTS, salt=salt, id=uuid7())
    head = commits.filter(account_id=account_id).order_by("-seq").values_list("seq", "commit_hash")
    seq, parent_hash = head.first() or EMPTY_CHAIN_HEAD
    link = Link(
        format=1,
        id=common["commit_id"],
        account=account_id,
        seq=seq + 1,
        parent_hash=parent_hash,
        actor="system",
        created_at=timezone.now(),
        input_digest=digest(salt, CONTENTS),
        diff=diff,
    )
    values = {name: getattr(link, name) for name in ("seq", "parent_hash", "actor", "created_at")}
    commits.create(
        id=link.id,
        account_id=account_id,
        **values,
        input_digest=link.input_digest,
        diff=diff,
        commit_hash=compute_commit_hash(link),
    )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0010_invitation"), ("ledger", "0001_initial")]
    operations = [
        *(
            migrations.AlterField(
                model_name=name,
                name="role",
                field=models.CharField(choices=ROLES, max_length=10, verbose_name="role"),
            )
            for name in ("membership", "invitation")
        ),
        migrations.RunPython(make_editors, migrations.RunPython.noop),
    ]
