"""Keys and memberships tell whether their account is archived; the owner of the installation lists all accounts."""

from importlib import import_module

from django.db import migrations

from kmapp.accounts.row_level_security import SecurityDefinerFunction

accounts_of_user = import_module("kmapp.migrations.0003_accounts_of_user").accounts_of_user
ACCESS = "account_id uuid, name text, slug text, role text, require_second_factor boolean"
ACCESS_FROM = "a.id, a.name, a.slug, m.role, a.require_second_factor"
KEY = (
    "id uuid, account_id uuid, account_slug text, name text, hash text, scopes text[],"
    " expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz"
)
KEY_FROM = (
    "k.id, k.account_id, a.slug, k.name, k.hash, k.scopes::text[], k.expires_at,"
    " k.revoked_at, k.last_used_at"
)


def api_key_by_prefix(columns: str, expressions: str) -> SecurityDefinerFunction:
    return SecurityDefinerFunction(
        "api_key_by_prefix(text)",
        "wanted text",
        f"TABLE ({columns})",
        f"SELECT {expressions} FROM accounts_apikey k"
        " JOIN accounts_account a ON a.id = k.account_id WHERE k.prefix = wanted",
    )


def drop(function: SecurityDefinerFunction) -> migrations.RunSQL:
    """PostgreSQL cannot replace a function by one that returns other columns."""
    return migrations.RunSQL(function.backwards(), function.forwards())


class Migration(migrations.Migration):
    dependencies = [
        ("kmapp", "0003_accounts_of_user"),
        ("accounts", "0006_account_archived_at"),
    ]
    operations = [
        drop(accounts_of_user(ACCESS, ACCESS_FROM)),
        accounts_of_user(
            f"{ACCESS}, archived_at timestamptz", f"{ACCESS_FROM}, a.archived_at"
        ),
        drop(api_key_by_prefix(KEY, KEY_FROM)),
        api_key_by_prefix(
            f"{KEY}, is_archived boolean", f"{KEY_FROM}, a.archived_at IS NOT NULL"
        ),
        SecurityDefinerFunction(
            "list_accounts()",
            "",
            "TABLE (account_id uuid, name text, slug text, created_at timestamptz,"
            " archived_at timestamptz, members bigint, active_keys bigint)",
            "SELECT a.id, a.name, a.slug, a.created_at, a.archived_at,"
            " (SELECT count(*) FROM accounts_membership m WHERE m.account_id = a.id),"
            " (SELECT count(*) FROM accounts_apikey k WHERE k.account_id = a.id"
            "   AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()))"
            " FROM accounts_account a ORDER BY a.archived_at IS NOT NULL, a.name, a.id",
        ),
    ]
