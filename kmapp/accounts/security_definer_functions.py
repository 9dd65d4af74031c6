"""The doors in the wall between accounts, and who may go through them.

Each is a SECURITY DEFINER function of the owner that answers one narrow question; the app role
may call it, nobody else.
"""

from typing import Any

from kmapp.accounts.row_level_security import Sql, app_role


class Door(Sql):
    """A function that looks across accounts. `signature` is its name with argument types."""

    def __init__(self, signature: str, definition: str) -> None:
        self.signature, self.definition = signature, definition

    def forwards(self) -> list[str]:
        return [
            self.definition,
            f"REVOKE EXECUTE ON FUNCTION {self.signature} FROM PUBLIC",
            f'GRANT EXECUTE ON FUNCTION {self.signature} TO "{app_role()}"',
        ]

    def backwards(self) -> list[str]:
        return [f"DROP FUNCTION {self.signature}"]

    def describe(self) -> str:
        return f"Open the door {self.signature}"


def door(signature: str, arguments: str, returns: str, body: str, **options: Any) -> Door:
    """Spell the function that all doors share: owner's rights, a fixed search path."""
    language = options.get("language", "sql")
    name = signature.partition("(")[0]
    return Door(
        signature,
        f"CREATE FUNCTION {name}({arguments}) RETURNS {returns} LANGUAGE {language} "
        f"SECURITY DEFINER SET search_path = pg_catalog, public AS $door${body}$door$",
    )
