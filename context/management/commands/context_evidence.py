"""manage.py context_evidence: the evidence in retrieved texts, by their limit in tokens."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandParser

from context.benchmarks.passage_recall import result_lines
from context.benchmarks.retrieved_evidence import document_lines, memory_lines
from context.management.commands.context_scenario import DEFAULT_URL, check_url, create_client
from kmapp.management.account_lookup import get_account
from kmapp.management.argument_types import parse_count
from knowledge.benchmarks.search_quality import QUESTIONS, load_questions
from memory.benchmarks.embedder import serve_embedder
from memory.benchmarks.offline_retrieval import Vectors


class Command(BaseCommand):
    help = (
        "Measure how much evidence a prompt contains within a number of tokens: memories of "
        "labelled files (memories; needs no database), documents that `knowledge_perf questions` "
        "delivered (documents), and facts in tool results that it archives over the API "
        "(results)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        memories = verbs.add_parser("memories", help="retrieved memories of a call")
        memories.add_argument("files", nargs="+", type=Path, metavar="FILE.json.gz")
        memories.add_argument("--vectors", type=Path, help="cache vectors in this file")
        memories.add_argument("--number", type=parse_count, default=250, help="number of questions")
        documents = verbs.add_parser("documents", help="retrieved passages of a call")
        documents.add_argument("source", help="name of the source")
        documents.add_argument("--file", type=Path, default=QUESTIONS, help="file of questions")
        documents.add_argument(
            "--account", metavar="SLUG", help="optional if there is only one account"
        )
        results = verbs.add_parser("results", help="loads of archived tool results")
        results.add_argument("--url", type=check_url, default=DEFAULT_URL)
        results.add_argument(
            "--key", required=True, help="API key with the scopes context:read and context:write"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_measure_{options['verb']}")(options)

    def _measure_memories(self, options: dict[str, Any]) -> None:
        with serve_embedder() as embed, TemporaryDirectory() as folder:
            vectors = Vectors(options["vectors"] or Path(folder) / "vectors.sqlite", embed)
            for file in options["files"]:
                for line in memory_lines(file, vectors, options["number"]):
                    self.stdout.write(line)

    def _measure_documents(self, options: dict[str, Any]) -> None:
        account = get_account(options["account"])
        questions = load_questions(options["file"])
        for line in document_lines(account.pk, options["source"], questions):
            self.stdout.write(line)

    def _measure_results(self, options: dict[str, Any]) -> None:
        client = create_client(options["url"], options["key"])
        for line in result_lines(client, f"evidence-{uuid4()}"):
            self.stdout.write(line)
