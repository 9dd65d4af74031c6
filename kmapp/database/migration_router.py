"""Database router: the app role reads and writes, the owner role migrates."""

from typing import Any, Final

OWNER: Final = "owner"  # the alias of the connection whose role owns the tables


class OwnerMigrates:
    """Allow migrations on the owner connection only."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == OWNER

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        return True
