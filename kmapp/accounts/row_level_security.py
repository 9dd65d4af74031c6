"""Migration operations for row-level security between accounts.

`EnableRowLevelSecurity` forces it, so that it binds the owner of the table too. The app role sees
the rows of `app.account_id`; the owner sees all rows, so that data migrations work.
`SameAccountForeignKey` includes the account in the key, because row-level security does not apply
to foreign key checks.
"""

from typing import Any

from django.conf import settings
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

CURRENT = "nullif(current_setting('app.account_id', true), '')::uuid"
CURRENT_IN_CATALOG = "(NULLIF(current_setting('app.account_id'::text, true), ''::text))::uuid"


def get_app_role() -> str:
    return str(settings.DATABASES["default"]["USER"])


class SQLOperation(Operation):
    """A migration operation that executes SQL statements in both directions."""

    reversible = True
    reduces_to_sql = True

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Change nothing: the state of the models stays the same."""

    def forwards(self) -> list[str]:
        raise NotImplementedError

    def backwards(self) -> list[str]:
        raise NotImplementedError

    def database_forwards(self, app_label: str, schema_editor: Any, *states: ProjectState) -> None:
        for statement in self.forwards():
            schema_editor.execute(statement, params=None)

    def database_backwards(self, app_label: str, schema_editor: Any, *states: ProjectState) -> None:
        for statement in self.backwards():
            schema_editor.execute(statement, params=None)


class EnableRowLevelSecurity(SQLOperation):
    """Let each account see only its own rows of a table."""

    def __init__(self, table: str, column: str = "account_id") -> None:
        self.table, self.column = table, column

    def forwards(self) -> list[str]:
        own_rows = f"{self.column} = {CURRENT}"
        return [
            f"ALTER TABLE {self.table} ENABLE ROW LEVEL SECURITY",
            f"ALTER TABLE {self.table} FORCE ROW LEVEL SECURITY",
            f'CREATE POLICY own_account ON {self.table} TO "{get_app_role()}" '
            f"USING ({own_rows}) WITH CHECK ({own_rows})",
            f"CREATE POLICY owner_sees_all ON {self.table} TO CURRENT_USER "
            "USING (true) WITH CHECK (true)",
        ]

    def backwards(self) -> list[str]:
        return [
            f"DROP POLICY own_account ON {self.table}",
            f"DROP POLICY owner_sees_all ON {self.table}",
            f"ALTER TABLE {self.table} NO FORCE ROW LEVEL SECURITY",
            f"ALTER TABLE {self.table} DISABLE ROW LEVEL SECURITY",
        ]

    def describe(self) -> str:
        return f"Isolate accounts in {self.table}"


def list_policies(owner: str, column: str = "account_id") -> list[tuple[str | list[str], ...]]:
    """Return the policies of `EnableRowLevelSecurity` as pg_policies displays them.

    Each is (policyname, roles, permissive, cmd, qual, with_check); by name.
    """
    own_rows = f"({column} = {CURRENT_IN_CATALOG})"
    return [
        ("own_account", [get_app_role()], "PERMISSIVE", "ALL", own_rows, own_rows),
        ("owner_sees_all", [owner], "PERMISSIVE", "ALL", "true", "true"),
    ]


class SameAccountForeignKey(SQLOperation):
    """A foreign key to a row of the same account. Checked at commit."""

    def __init__(self, table: str, column: str, target: str) -> None:
        self.table, self.column, self.target = table, column, target
        self.name = f"{table}_{column}_same_account"

    def forwards(self) -> list[str]:
        return [
            f"ALTER TABLE {self.table} ADD CONSTRAINT {self.name} "
            f"FOREIGN KEY (account_id, {self.column}) REFERENCES {self.target} (account_id, id) "
            "DEFERRABLE INITIALLY DEFERRED"
        ]

    def backwards(self) -> list[str]:
        return [f"ALTER TABLE {self.table} DROP CONSTRAINT {self.name}"]

    def describe(self) -> str:
        return f"{self.table}.{self.column} stays inside its account"


class SecurityDefinerFunction(SQLOperation):
    """A function that reads across accounts. `signature` is its name with argument types."""

    def __init__(
        self, signature: str, arguments: str, returns: str, body: str, *, language: str = "sql"
    ) -> None:
        self.signature = signature
        # The fixed search path keeps callers from replacing the tables that the function reads.
        # PostgreSQL searches temporary tables first unless the path names them.
        self.definition = (
            f"CREATE OR REPLACE FUNCTION {signature.partition('(')[0]}({arguments}) "
            f"RETURNS {returns} LANGUAGE {language} "
            f"SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $body${body}$body$"
        )

    def forwards(self) -> list[str]:
        return [
            self.definition,
            f"REVOKE EXECUTE ON FUNCTION {self.signature} FROM PUBLIC",
            f'GRANT EXECUTE ON FUNCTION {self.signature} TO "{get_app_role()}"',
        ]

    def backwards(self) -> list[str]:
        return [f"DROP FUNCTION {self.signature}"]

    def describe(self) -> str:
        return f"Create function {self.signature}"
