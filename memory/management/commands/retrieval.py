"""manage.py retrieval: tune the search weights, and measure retrieval quality by signal."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from kmapp.management.argument_types import parse_count
from kmapp.providers.embedding_model_lifecycle import TEMPLATE
from kmapp.search import signal_weights as search_weights
from memory.benchmarks import ablation_table
from memory.benchmarks.calibration import (
    Case,
    load_cases,
    load_facts,
    render_constants,
    render_tables,
)
from memory.benchmarks.embedder import serve_embedder
from memory.benchmarks.minimum_score import minimum_score_lines
from memory.benchmarks.offline_retrieval import Vectors, load_questions, remove_context
from memory.benchmarks.prompt_block_evidence import evidence_lines
from memory.benchmarks.weight_tuning import (
    QuestionFile,
    build_examples,
    evaluate_held_out,
    list_training_examples,
)
from memory.retrieval.learning.fit import NAMES, fit_weights

WEIGHTS = Path(search_weights.__file__).with_name("weights.json")


class Command(BaseCommand):
    help = (
        "Tune the search weights on files of labelled questions (tune), measure retrieval "
        "quality with an ablation of each signal (table) and the evidence in prompt blocks "
        "(tokens), fit the probabilities of scores (calibrate), and check that scores mean the "
        "same in both languages (level). Needs no database."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        tuner = verbs.add_parser("tune", help="write the weights file")
        table = verbs.add_parser("table", help="print or write the ablation table")
        budgets = verbs.add_parser("tokens", help="measure the evidence in prompt blocks")
        budgets.add_argument("--number", type=parse_count, default=250, help="number of questions")
        calibrating = verbs.add_parser("calibrate", help="print the constants of probabilities")
        for verb in (tuner, table, budgets, calibrating):
            verb.add_argument("files", nargs="+", type=Path, metavar="FILE.json.gz")
            verb.add_argument("--vectors", type=Path, help="cache vectors in this file")
        verbs.add_parser("level", help="check that scores mean the same in both languages")
        tuner.add_argument("--out", type=Path, default=WEIGHTS)
        table.add_argument("--out", type=Path, help="write Markdown to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        with serve_embedder() as embed, TemporaryDirectory() as folder:
            file = options.get("vectors") or Path(folder) / "vectors.sqlite"
            getattr(self, f"_{options['verb']}")(Vectors(file, embed), options)

    def _level(self, vectors: Vectors, options: dict[str, Any]) -> None:
        self._write(minimum_score_lines(vectors))

    def _tokens(self, vectors: Vectors, options: dict[str, Any]) -> None:
        for file in options["files"]:
            self._write(evidence_lines(file, vectors, options["number"]))

    def _calibrate(self, vectors: Vectors, options: dict[str, Any]) -> None:
        cases = _cases(vectors, options["files"])
        self._write([*render_constants(cases), "", *render_tables(cases)])

    def _table(self, vectors: Vectors, options: dict[str, Any]) -> None:
        confidence = render_tables(_cases(vectors, options["files"]))
        sources = [self._source(file, vectors, "table") for file in options["files"]]
        text = ablation_table.render_page(sources, confidence)
        if options["out"]:
            options["out"].write_text(text, encoding="utf-8")
        self.stdout.write(text)

    def _write(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.stdout.write(line)

    def _source(self, file: Path, vectors: Vectors, verb: str) -> QuestionFile:
        questions = load_questions(file, vectors)
        self.stderr.write(f"{file.name}: {len(questions):,} questions.")
        alone = [remove_context(each) for each in questions] if verb == "table" else []
        return QuestionFile(file.name, build_examples(questions), build_examples(alone))

    def _tune(self, vectors: Vectors, options: dict[str, Any]) -> None:
        sources = [self._source(file, vectors, "tune") for file in options["files"]]
        held_out = {name: each.as_dict() for name, each in evaluate_held_out(sources).items()}
        weights = fit_weights(list_training_examples(sources))
        output = {
            "weights": dict(zip(NAMES, (round(float(w), 4) for w in weights), strict=True)),
            "learned_by": "manage.py retrieval tune",
            "from": {
                file.name: {
                    "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
                    "questions": len(source.examples),
                }
                for file, source in zip(options["files"], sources, strict=True)
            },
            "model": settings.EMBEDDING_MODEL,
            "passage_template": TEMPLATE,
            "on_what_was_held_out": held_out,
        }
        options["out"].write_text(json.dumps(output, indent=2) + "\n", encoding="utf-8")
        self.stdout.write(json.dumps(output, indent=2))


def _cases(vectors: Vectors, files: Iterable[Path]) -> list[Case]:
    cases = [case for file in files for case in load_cases(file, vectors)]
    return [*cases, *load_facts(vectors)]
