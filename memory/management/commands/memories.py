"""manage.py memories: single memories, and export and import of all memories of an account."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import DomainError
from kmapp.management.account_lookup import get_account
from kmapp.management.progress import Progress
from memory.actions.imports import ImportLine, ImportResult, LineProblem, import_lines
from memory.actions.reindex import rebuild_indexes
from memory.actions.topic_editing import current_topics, refresh_suggestions
from memory.actions.topic_growth import grow_topics
from memory.management.entry_commands import (
    SUBCOMMANDS,
    add_subcommands,
    add_verb,
    format_table,
    run_subcommand,
)
from memory.models import MemoryEntry
from memory.transfer.export import count_lines, export_account
from memory.transfer.jsonl import InvalidLine, UnknownFormat, parse_object

BLOCK = 500  # lines that become one commit
MAX_PRINTED_PROBLEMS = 20  # problems on the terminal; all of them go to the file of --problems
STANDARD = "-"
TOPIC = ("members", "state", "id", "user_id", "name")


class Command(BaseCommand):
    help = (
        "Export memories of an account as JSON lines, or import such lines. Vectors are "
        "computed on import, and importing a file twice changes nothing. Also rebuilds "
        "derived data, and searches, lists, shows, adds, corrects and forgets single "
        "memories."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        exporting = add_verb(verbs, "export", "export to a file")
        importing = add_verb(verbs, "import", "import a file")
        for verb in (exporting, importing):
            verb.add_argument("file", metavar="FILE.jsonl", help=f"{STANDARD} for the terminal")
        importing.add_argument("--problems", type=Path, help="write failed lines to this file")
        add_verb(verbs, "rebuild", "recompute words, vectors and order")
        add_subcommands(verbs)
        add_verb(verbs, "topics", "let topics grow, and list them", has_json=True)

    def handle(self, *args: Any, **options: Any) -> None:
        account = get_account(options["account"])
        if options["verb"] in SUBCOMMANDS:
            try:
                self.stdout.write(run_subcommand(account, options["verb"], options))
            except DomainError as refusal:
                raise CommandError(str(refusal)) from refusal
        elif options["verb"] == "export":
            self._export(account, options["file"])
        elif options["verb"] == "rebuild":
            self._rebuild(account)
        elif options["verb"] == "topics":
            self._topics(account, as_json=options["json"])
        else:
            self._import(account, options["file"], options["problems"])

    def _export(self, account: Account, name: str) -> None:
        progress = Progress("Lines written", count_lines(account.pk))
        try:
            with _written(name) as out:
                for line in export_account(account.pk):
                    out.write(line)
                    progress.add()
        except DomainError as error:
            raise CommandError(str(error)) from error
        progress.end()

    def _rebuild(self, account: Account) -> None:
        with acting(account):
            total = MemoryEntry.objects.of(account).count()
        progress = Progress("Memories indexed", total)
        for number in rebuild_indexes(account.pk):
            progress.add(number)
        progress.end()
        self.stdout.write("Search by words is ready; workers compute vectors and order runs.")

    def _topics(self, account: Account, *, as_json: bool) -> None:
        run = grow_topics(account.pk, SYSTEM)
        examined = None if run.is_complete else run.examined
        suggested = refresh_suggestions(account.pk, run.suggestions, examined=examined)
        with acting(account):
            serialized: list[dict[str, Any]] = [
                {
                    "id": str(row.pk),
                    "name": row.title,
                    "state": row.status,
                    "members": _get_member_count(row),
                    "user_id": row.user_id,
                }
                for row in current_topics(account.pk).order_by("pk")
            ]
        serialized.sort(key=lambda each: -each["members"])
        if as_json:
            self.stdout.write(json.dumps(serialized, ensure_ascii=False, indent=2))
            return
        self.stdout.write(format_table(serialized, TOPIC))
        self.stdout.write(
            f"{run.created:,} new topics, {run.joined:,} memories joined a topic, "
            f"{run.unassigned:,} are in no topic. Suggestions about topics: {suggested:,}."
        )

    def _import(self, account: Account, name: str, problems: Path | None) -> None:
        progress = Progress("Lines read")
        whole = ImportResult()
        with _opened(name) as lines:
            numbered = enumerate(lines, start=1)
            while block := list(islice(numbered, BLOCK)):
                whole.add(self._import_file(account, block, source=Path(name).name))
                progress.add(len(block))
        progress.end()
        self.stdout.write(
            f"{whole.entries:,} memories and {whole.edges:,} edges are new here, "
            f"{whole.unchanged:,} were here already."
        )
        if whole.problems:
            self._refuse(whole.problems, problems)

    def _import_file(
        self, account: Account, block: Iterable[tuple[int, bytes]], *, source: str
    ) -> ImportResult:
        """Import one block in one transaction, and report its unreadable lines as well."""
        lines, unread = [], []
        for number, raw in block:
            try:
                if text := raw.decode().strip():
                    lines.append(ImportLine(number=number, value=parse_object(text)))
            except UnicodeDecodeError:
                unread.append(LineProblem(line=number, reason="is not UTF-8"))
            except InvalidLine as error:
                unread.append(LineProblem(line=number, reason=str(error)))
            except UnknownFormat as error:
                raise CommandError(str(error)) from error
        with acting(account):
            result = import_lines(account, SYSTEM, lines, source=source)
        result.problems = sorted([*unread, *result.problems], key=lambda problem: problem.line)
        return result

    def _refuse(self, problems: list[LineProblem], to: Path | None) -> None:
        problem_lines = [f"line {problem.line}: {problem.reason}" for problem in problems]
        if to:
            to.write_text("\n".join(problem_lines) + "\n")
        self.stderr.write("\n".join(problem_lines[:MAX_PRINTED_PROBLEMS]))
        if len(problem_lines) > MAX_PRINTED_PROBLEMS:
            self.stderr.write(
                f"… and {len(problem_lines) - MAX_PRINTED_PROBLEMS:,} more. "
                "Use --problems FILE to write all of them to a file."
            )
        raise CommandError(f"{len(problem_lines):,} lines were not imported; all others were.")


def _get_member_count(topic: MemoryEntry) -> int:
    """Return the number that growth stored; agents may store topics with any metadata."""
    number = topic.slots.get("member_count")
    return number if isinstance(number, int) else 0


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - closed below; only opening may fail here
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
    with file:
        yield file


@contextmanager
def _written(name: str) -> Iterator[BinaryIO]:
    """Write a file that appears only when it is complete."""
    if name == STANDARD:
        yield sys.stdout.buffer
        return
    part = Path(f"{name}.part")
    try:
        with part.open("wb") as file:
            yield file
    except OSError as error:
        raise CommandError(f"{part}: {error.strerror}") from error
    part.replace(name)
