"""Two doors to one database: the app role works, the owner role migrates."""

from typing import Any


class OwnerMigrates:
    """Only the owner may change the schema."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == "owner"

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        return True
