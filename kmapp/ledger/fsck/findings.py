"""Findings of the verification."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Data that is not as it was sealed, and where it is."""

    kind: str
    message: str
    account: str = ""  # its id
    seq: int | None = None  # of the commit
    object: str = ""  # memory.memoryentry:<uuid>

    def __str__(self) -> str:
        where = [self.account]
        if self.seq is not None:
            where.append(f"commit {self.seq}")
        if self.object:
            where.append(self.object)
        return f"{self.kind}: {' · '.join(filter(None, where))}: {self.message}"


@dataclass
class Findings:
    """Problems up to a limit, the number of all problems, and notes that are no problems."""

    limit: int = 1000
    problems: list[Problem] = field(default_factory=list)
    found: int = 0
    notes: list[str] = field(default_factory=list)
    accounts: int = 0
    commits: int = 0
    rows: int = 0
    versions: int = 0
    checkpoints: int = 0

    @property
    def ok(self) -> bool:
        return not self.found

    def add(
        self, kind: str, message: str, account: str = "", seq: int | None = None, name: str = ""
    ) -> None:
        """Add a problem; `name` is the object's, as in `Problem.object`."""
        self.found += 1
        if len(self.problems) < self.limit:
            self.problems.append(
                Problem(kind=kind, message=message, account=account, seq=seq, object=name)
            )
