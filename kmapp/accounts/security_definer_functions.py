"""Migration operation for SECURITY DEFINER functions, the only queries across accounts.

Each function belongs to the owner and answers one narrow query. Only the app role may execute it.
"""

from kmapp.accounts.row_level_security import SQLOperation, get_app_role


class SecurityDefinerFunction(SQLOperation):
    """A function that reads across accounts. `signature` is its name with argument types."""

    def __init__(
        self, signature: str, arguments: str, returns: str, body: str, *, language: str = "sql"
    ) -> None:
        self.signature = signature
        # The fixed search path keeps callers from replacing the tables that the function reads.
        self.definition = (
            f"CREATE OR REPLACE FUNCTION {signature.partition('(')[0]}({arguments}) "
            f"RETURNS {returns} LANGUAGE {language} "
            f"SECURITY DEFINER SET search_path = pg_catalog, public AS $body${body}$body$"
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
