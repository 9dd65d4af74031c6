"""Findings of the verification."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is not as it was sealed, with all that helps to find it."""

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
    """All of it: problems up to a limit and their number, and what deserves a word but is fine."""

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

    def add(self, problem: Problem) -> None:
        self.found += 1
        if len(self.problems) < self.limit:
            self.problems.append(problem)
