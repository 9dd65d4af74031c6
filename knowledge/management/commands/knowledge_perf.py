"""manage.py knowledge_perf: measure document search, chunking and verification."""

import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.accounts.models import account_ids
from kmapp.management.account_lookup import get_account
from kmapp.management.benchmark import describe_origin, run_on_temporary_servers, write_section
from kmapp.search.variants import DEFAULT_VARIANT, VARIANTS
from knowledge.actions.folder_sync import build_delivery, list_files
from knowledge.benchmarks import verify_on_read_cost
from knowledge.benchmarks.search_quality import (
    QUESTIONS,
    RANKS,
    compute_recall,
    load_questions,
    run_questions,
)
from knowledge.chunking import split_chunks
from knowledge.chunking.index_versions import INDEX_VERSIONS
from knowledge.parsing.formats import Format, decode_text, extract_title, find_format


class Command(BaseCommand):
    help = (
        "Deliver a folder to a source of the same name and measure how many questions with "
        "labelled files have one of them among the first documents (questions), measure "
        "how many files per second are parsed and chunked on one core (cut; needs no "
        "database), or measure searches with verify_on_read on synthetic documents (verify)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        questions_parser = verbs.add_parser("questions", help="measure R@5 by document")
        questions_parser.add_argument(
            "--name", help="name of the source; default: the folder's name"
        )
        questions_parser.add_argument(
            "--file", type=Path, default=QUESTIONS, help="file of questions"
        )
        questions_parser.add_argument(
            "--variant", choices=list(VARIANTS), default=DEFAULT_VARIANT.name
        )
        questions_parser.add_argument(
            "--account", metavar="SLUG", help="optional if there is only one account"
        )
        cutting = verbs.add_parser("cut", help="measure parsing and chunking in files per second")
        for verb in (questions_parser, cutting):
            verb.add_argument("folder", type=Path)
        verifying = verbs.add_parser("verify", help="measure searches with verify_on_read")
        verifying.add_argument("--documents", type=int, default=2_000)
        verifying.add_argument("--number", type=int, default=120, help="number of queries")
        verifying.add_argument("--out", type=Path, help="write the figures to this page")
        verifying.add_argument(
            "--here",
            action="store_true",
            help="use this installation, which must have no accounts, instead of a temporary one",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verb"] == "verify":
            self._measure_verification(options)
            return
        if not options["folder"].is_dir():
            raise CommandError(f"{options['folder']} is not a folder.")
        if options["verb"] == "cut":
            self._measure_chunking(options)
        else:
            self._measure_search(options)

    def _measure_search(self, options: dict[str, Any]) -> None:
        account = get_account(options["account"])
        folder: Path = options["folder"].resolve()
        name = options["name"] or folder.name
        call_command("knowledge", "sync", folder, name=name, account=options["account"], wait=True)
        variant = VARIANTS[options["variant"]]
        answers = list(run_questions(account.pk, name, load_questions(options["file"]), variant))
        for each in answers:
            if each.rank is None or each.rank > RANKS:
                self.stdout.write(f"{each.rank or '-':>3} {each.question.text}")
                self.stdout.write(f"    found: {', '.join(each.refs[:RANKS])}")
        for kind, share in compute_recall(answers).items():
            self.stdout.write(f"R@{RANKS} of {kind}: {share:.3f}")

    def _measure_verification(self, options: dict[str, Any]) -> None:
        if not options["here"]:
            run_on_temporary_servers()
            return
        if account_ids():
            raise CommandError("This installation has accounts. Leave --here out.")
        origin = describe_origin("knowledge_perf verify")
        writer = verify_on_read_cost.Writer()
        self.stderr.write(f"delivering {options['documents']:,} documents …")
        account = verify_on_read_cost.create_account_with_documents(options["documents"], writer)
        self.stderr.write("searching …")
        cost = verify_on_read_cost.measure_verify_cost(account, options["number"], writer)
        chunks = verify_on_read_cost.count_chunks(account)
        text = verify_on_read_cost.render_section(origin, chunks, cost)
        if options["out"]:
            write_section(options["out"], "knowledge_perf verify", text)
        self.stdout.write(text)

    def _measure_chunking(self, options: dict[str, Any]) -> None:
        folder: Path = options["folder"]
        formats = {path: find_format(path.name) for path in list_files(folder)}
        texts = {path: form for path, form in formats.items() if form and not form.parser}
        if not texts:
            raise CommandError(f"{folder} has no texts.")
        _chunk_files(folder, dict(islice(texts.items(), 5)))  # loads the splitters
        started = time.process_time()
        characters, chunks = _chunk_files(folder, texts)
        speed = len(texts) / (time.process_time() - started)
        self.stdout.write(
            f"{len(texts):,} files of {characters:,} characters, {chunks:,} chunks: "
            f"{speed:,.0f} files a second."
        )


def _chunk_files(folder: Path, formats: Mapping[Path, Format]) -> tuple[int, int]:
    """Read and chunk files as a delivery does. Return the numbers of characters and chunks."""
    tokens = INDEX_VERSIONS[DEFAULT_VARIANT.index_version]
    characters = chunks = 0
    for path, form in formats.items():
        text = decode_text(b"".join(build_delivery(folder, path).pieces))
        extract_title(path.name, text, form.shape)
        characters += len(text)
        chunks += len(split_chunks(text, form.shape, tokens=tokens, language=form.language))
    return characters, chunks
