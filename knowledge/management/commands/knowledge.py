"""manage.py knowledge: deliver folders as sources, once or continuously."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.combined_counts import count_querysets
from kmapp.errors import DomainError, Waiting
from kmapp.management.account_lookup import get_account
from kmapp.management.progress import Progress
from kmapp.outbox.models import Delivery
from kmapp.providers.active_models import models_in_use
from kmapp.search.models import Vector
from knowledge.actions.chunks import EMBED
from knowledge.actions.folder_sync import (
    Signature,
    SyncedSource,
    compute_signature,
    list_files,
    sync_folder,
)
from knowledge.actions.parsing_jobs import FETCH, READ
from knowledge.actions.reindex import reindex_source
from knowledge.actions.sources import NewSource, change_source, check_source, lock_source
from knowledge.chunking.index_versions import INDEX_VERSIONS
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource
from knowledge.parsing.failure_messages import JOB_FAILED

POLL_SECONDS = 2.0


class Command(BaseCommand):
    help = (
        "Deliver the files of a folder to a source, once or continuously with --watch. "
        "Unchanged files are skipped and deleted files are removed. Can also chunk sources "
        "with another index version."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        syncing = verbs.add_parser("sync", help="deliver a folder")
        syncing.add_argument("folder", type=Path)
        syncing.add_argument("--name", help="name of the source; default: the folder's name")
        kinds = [each for each in KnowledgeSource.Kind.values if each != "lorebook"]
        syncing.add_argument("--kind", choices=kinds, default="repo_docs")
        syncing.add_argument("--trust", choices=KnowledgeSource.Trust.values, default="")
        syncing.add_argument("--scope", default="")
        syncing.add_argument("--revision", help="for example the checked-out commit")
        syncing.add_argument("--watch", action="store_true", help="continue until Ctrl-C")
        syncing.add_argument(
            "--wait", action="store_true", help="wait until everything is parsed and embedded"
        )
        cutting = verbs.add_parser("index", help="chunk sources with several index versions")
        cutting.add_argument("versions", nargs="+", choices=list(INDEX_VERSIONS))
        cutting.add_argument("--source", help="name of the source; default: all")
        for verb in (syncing, cutting):
            verb.add_argument(
                "--account", metavar="SLUG", help="optional if there is only one account"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        account = get_account(options["account"])
        try:
            if options["verb"] == "index":
                self._index(account, options["versions"], options["source"])
            else:
                self._sync(account, options)
        except DomainError as error:
            raise CommandError(error.message) from error

    def _sync(self, account: Account, options: dict[str, Any]) -> None:
        folder: Path = options["folder"]
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        source_input = NewSource(
            name=options["name"] or folder.resolve().name,
            kind=options["kind"],
            trust=options["trust"],
            scope=options["scope"],
            ref=str(folder.resolve()),
            revision=options["revision"],
        )
        with acting(account):
            row = check_source(account.pk, SYSTEM, source_input)
        source = SyncedSource(row=row, source_input=source_input, actor=SYSTEM)
        # Computed before the delivery, so that files that change meanwhile are delivered again.
        synced = compute_signature(folder) if options["watch"] else None
        self._sync_once(source, folder)
        if options["wait"] and (unprocessed := self._wait_until_parsed(source.row)):
            problem = (
                f"{unprocessed:,} files and texts were not processed, because their jobs failed "
                f"permanently. See {settings.COMMAND} outbox list --state FAILED, remove the "
                f"cause, then run {settings.COMMAND} outbox replay."
            )
            if not options["watch"]:
                raise CommandError(problem)
            self.stderr.write(problem)
        if options["watch"]:
            self._watch(source, folder, synced)

    def _sync_once(self, source: SyncedSource, folder: Path) -> None:
        progress = Progress("Files delivered", sum(1 for _ in list_files(folder)))
        result = sync_folder(source, folder, progress.add)
        progress.end()
        documents = _format_counts(result.documents, "added", "changed", "unchanged", "removed")
        chunks = _format_counts(result.chunks, "created", "unchanged", "retired")
        self.stdout.write(f"{documents}; chunks: {chunks}.")
        for reason in result.refused:
            self.stderr.write(reason)

    def _watch(self, source: SyncedSource, folder: Path, synced: Signature | None) -> None:
        self.stdout.write(f"Watching {folder}. Ctrl-C ends it.")
        try:
            while True:
                time.sleep(POLL_SECONDS)
                synced = self._sync_changes(source, folder, synced)
        except KeyboardInterrupt:
            self.stdout.write("Ended.")

    def _sync_changes(
        self, source: SyncedSource, folder: Path, synced: Signature | None
    ) -> Signature | None:
        """Return the signature of what is delivered now; None if it must be delivered again."""
        try:
            signature = compute_signature(folder)
            if signature != synced:
                self._sync_once(source, folder)
        except FileNotFoundError:  # deleted meanwhile
            return None
        except Waiting as error:  # for example, the virus scanner is not available
            self.stderr.write(error.message)
            time.sleep(error.retry_after)
            return None
        return signature

    def _wait_until_parsed(self, source: KnowledgeSource) -> int:
        """Return the number of files and texts whose jobs failed permanently."""
        pending, has_jobs = _count_pending(source)
        progress = Progress("Files read and texts embedded", pending)
        while pending and has_jobs:
            time.sleep(POLL_SECONDS)
            before = pending
            pending, has_jobs = _count_pending(source)
            progress.add(max(0, before - pending))
        progress.end()
        with acting(source.account_id):
            rows = KnowledgeDocument.objects.of(source.account_id).filter(source=source)
            failed = rows.not_removed().filter(state="failed")
            for document in failed[:20]:
                self.stderr.write(f"{document.ref}: {document.error}")
            return pending + failed.filter(error=JOB_FAILED).count()

    def _index(self, account: Account, versions: list[str], name: str | None) -> None:
        with acting(account):
            rows = KnowledgeSource.objects.of(account).of_documents()
            ids = list((rows.filter(name=name) if name else rows).values_list("pk", flat=True))
        if name and not ids:
            raise CommandError(f"Source {name!r} does not exist.")
        refused: list[str] = []
        for pk in ids:
            with acting(account):
                source = lock_source(account.pk, pk)
                if source is None:
                    continue  # erased while others were chunked
                change_source(source, SYSTEM, {"index_versions": sorted(set(versions))})
            progress = Progress(f"Documents of {source.name} chunked")
            reasons: list[str] = []
            for number in reindex_source(source, reasons.append):
                progress.add(number)
            progress.end()
            refused += [f"{source.name}: {reason}" for reason in reasons]
        for line in refused:
            self.stderr.write(line)
        if refused:
            raise CommandError(
                f"{len(refused):,} documents could not be chunked and keep their former chunks."
            )


def _count_pending(source: KnowledgeSource) -> tuple[int, bool]:
    """Return the number of pending files and texts of a source, and whether there are jobs.

    One statement counts them, because a job that ends between two of them would seem to be missing.
    """
    with acting(source.account_id) as account_id:
        documents = KnowledgeDocument.objects.of(account_id).not_removed().filter(source=source)
        chunks = KnowledgeChunk.objects.of(account_id).filter(document__source=source)
        vectors = Vector.objects.of(account_id).filter(
            collection__startswith="knowledge.",
            state=Vector.State.PENDING,
            model__in=models_in_use(),  # no job embeds for a retired model
        )
        jobs = Delivery.objects.of(account_id).open().filter(event__topic__in=[READ, FETCH, EMBED])
        counts = count_querysets(
            {
                "documents": documents.filter(state="pending"),
                "vectors": vectors.filter(object_id__in=chunks.values("pk")),
                "jobs": jobs[:1],
            }
        )
    return counts["documents"] + counts["vectors"], counts["jobs"] > 0


def _format_counts(counts: Counter[str], *names: str) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in names)
