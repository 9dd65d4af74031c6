"""Database router: the app role reads and writes, the owner role migrates."""

from typing import Any


class OwnerMigrates:
    """Allow migrations on the owner connection only."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == "owner"

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        return True
