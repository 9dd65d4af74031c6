"""The accounts of a person tell whether they open only after company sign-in; sign-in pages list providers."""

from importlib import import_module

from django.db import migrations

from kmapp.accounts.row_level_security import SecurityDefinerFunction

before = import_module("kmapp.migrations.0004_archived_accounts")
ACCESS = f"{before.ACCESS}, archived_at timestamptz"
ACCESS_FROM = f"{before.ACCESS_FROM}, a.archived_at"
REQUIRED = (
    "EXISTS (SELECT FROM company_companysignin c"
    " WHERE c.account_id = a.id AND c.is_active AND NOT c.allows_password AND a.archived_at IS NULL)"
)


class Migration(migrations.Migration):
    dependencies = [
        ("kmapp", "0005_ledger_heads"),
        ("company", "0001_initial"),
    ]
    operations = [
        before.drop(before.accounts_of_user(ACCESS, ACCESS_FROM)),
        before.accounts_of_user(
            f"{ACCESS}, requires_company_sign_in boolean", f"{ACCESS_FROM}, {REQUIRED}"
        ),
        SecurityDefinerFunction(
            "open_company_sign_ins()",
            "",
            "TABLE (account_id uuid, slug text, name text, is_listed boolean)",
            "SELECT a.id, a.slug, c.name, c.is_listed FROM company_companysignin c"
            " JOIN accounts_account a ON a.id = c.account_id"
            " WHERE c.is_active AND a.archived_at IS NULL ORDER BY c.name, a.id",
        ),
    ]
