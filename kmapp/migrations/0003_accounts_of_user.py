"""The accounts of a person tell whether they require a second factor."""

from django.db import migrations

from kmapp.accounts.row_level_security import SecurityDefinerFunction


def accounts_of_user(columns: str, expressions: str) -> SecurityDefinerFunction:
    return SecurityDefinerFunction(
        "accounts_of_user(uuid)",
        "person uuid",
        f"TABLE ({columns})",
        f"SELECT {expressions} FROM accounts_membership m"
        " JOIN accounts_account a ON a.id = m.account_id WHERE m.user_id = person ORDER BY a.name",
    )


BEFORE = accounts_of_user(
    "account_id uuid, name text, slug text, role text", "a.id, a.name, a.slug, m.role"
)


class Migration(migrations.Migration):
    dependencies = [
        ("kmapp", "0002_queue_functions"),
        ("accounts", "0005_require_second_factor"),
    ]
    operations = [
        # PostgreSQL cannot replace a function by one that returns other columns.
        migrations.RunSQL(BEFORE.backwards(), BEFORE.forwards()),
        accounts_of_user(
            "account_id uuid, name text, slug text, role text, require_second_factor boolean",
            "a.id, a.name, a.slug, m.role, a.require_second_factor",
        ),
    ]
