"""manage.py embedding_models: list, add, compare and switch embedding models."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.errors import DomainError
from kmapp.management.account_lookup import list_accounts
from kmapp.management.confirmation import confirm
from kmapp.management.progress import Progress
from kmapp.providers.embedding_model_lifecycle import TEMPLATE, retire_model
from kmapp.providers.errors import ProviderError
from kmapp.providers.models import EmbeddingModel
from kmapp.search import embedding_model_switch
from kmapp.search.embedding_model_comparison import (
    ExampleQuestion,
    compare_models,
    load_example_questions,
    render_report,
)
from kmapp.search.embedding_sources import list_sources
from kmapp.search.passage_templates import Template

EXAMPLES = 50
MODEL_OPTIONS = (
    *("name", "dimensions", "sends_input_type", "query_prefix", "passage_prefix"),
    *("cosine_low", "cosine_high"),
)


class Command(BaseCommand):
    help = (
        "List embedding models, and change from one to another without downtime: add, "
        "backfill, compare, activate, drop."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="list the models and their vectors")
        verbs.add_parser("ensure", help="create the default model and its index if missing")
        _add_model_options(verbs.add_parser("add", help="add a second model"))
        for verb, meaning in (
            ("backfill", "embed all existing texts; can be interrupted and resumed"),
            ("retire", "stop filling it"),
            ("activate", "let it answer searches from now on"),
            ("drop", "delete a retired model with its index and vectors"),
        ):
            one = verbs.add_parser(verb, help=meaning)
            one.add_argument("id", type=int)
            if verb == "activate":
                one.add_argument("--force", action="store_true", help="even if vectors are missing")
            if verb == "drop":
                one.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        pair = verbs.add_parser("compare", help="compare search results of two models")
        pair.add_argument("id", type=int, help="ID of the current model")
        pair.add_argument("other", type=int, help="ID of the new model")
        pair.add_argument("--account", metavar="SLUG", help="search this account only")
        pair.add_argument("--query", action="append", default=[], help="query to run; repeatable")
        pair.add_argument("--queries", type=Path, help="file with one query per line")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, options["verb"])(**options)
        except (DomainError, ProviderError) as refusal:
            raise CommandError(str(refusal)) from refusal

    def list(self, **_: Any) -> None:
        for model in EmbeddingModel.objects.order_by("pk"):
            vectors = embedding_model_switch.count_states(model)
            counted = ", ".join(f"{n:,} {state}" for state, n in vectors.items()) or "no vectors"
            self.stdout.write(
                f"{model.pk}  {model.state:9}{model.dimensions:5}  {model.name}"
                f"  {model.passage_template}  {counted}"
            )

    def ensure(self, *, verbosity: int, **_: Any) -> None:
        model = embedding_model_switch.ensure_default_model()
        if verbosity:
            self.stdout.write(f"{model} is active.")

    def add(self, **options: Any) -> None:
        try:
            Template(options["template"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        fields = {name: options[name] for name in MODEL_OPTIONS}
        model = EmbeddingModel(passage_template=options["template"], **fields)
        embedding_model_switch.add_model(model)
        self.stdout.write(
            f"{model} was added: new texts now get its vectors too.\nTo embed existing texts, run: "
            f"{settings.COMMAND} embedding_models backfill {model.pk}"
        )

    def backfill(self, **options: Any) -> None:
        model = _get_model(options["id"])
        missing = embedding_model_switch.load_coverage(model).missing
        progress = Progress(f"Texts embedded for {model}", missing)
        try:
            failed = embedding_model_switch.backfill_model(model, progress.add)
        except KeyboardInterrupt:
            raise CommandError("Stopped. Run the command again to resume.") from None
        finally:
            progress.end()
        covered = embedding_model_switch.load_coverage(model)
        self.stdout.write(
            f"{model} has vectors of {covered.percent:.1f} % of {covered.texts:,} texts"
            + (f"; {failed:,} were refused by the provider." if failed else ".")
        )

    def compare(self, **options: Any) -> None:
        pair = (_get_model(options["id"]), _get_model(options["other"]))
        queries = [*options["query"]]
        if options["queries"]:
            lines = options["queries"].read_text().splitlines()
            queries += [line for line in lines if line.strip()]
        questions = [ExampleQuestion(text=text) for text in queries]
        answers = []
        for account in list_accounts(options["account"]):
            for source in list_sources():
                batch = questions or load_example_questions(source, account.pk, EXAMPLES)
                answers += compare_models(source, account.pk, pair, batch)
        covered = [embedding_model_switch.load_coverage(model) for model in pair]
        self.stdout.write(render_report(pair, covered, answers))

    def activate(self, **options: Any) -> None:
        model = _get_model(options["id"])
        try:
            coverage = embedding_model_switch.activate_model(
                model, allow_incomplete=options["force"]
            )
        except DomainError as refusal:
            help_ = (
                f"\nFill it: {settings.COMMAND} embedding_models backfill {model.pk}"
                "\nOr switch although they are missing: --force"
            )
            incomplete = refusal.code == "model_incomplete"
            raise CommandError(f"{refusal}{help_ if incomplete else ''}") from refusal
        self.stdout.write(f"{model} answers searches within seconds.")
        if coverage.missing:
            self.stdout.write(
                f"It has no vector for {coverage.missing:,} of {coverage.texts:,} texts, which are "
                f"found by keyword only.\nTo embed them, run: {settings.COMMAND} embedding_models "
                f"backfill {model.pk}"
            )

    def retire(self, **options: Any) -> None:
        model = _get_model(options["id"])
        retire_model(model)
        self.stdout.write(
            f"{model} is not filled any longer; its vectors stay until it is dropped."
        )

    def drop(self, **options: Any) -> None:
        model = _get_model(options["id"])
        number = sum(embedding_model_switch.count_states(model).values())
        if not options["yes"] and not confirm(f"Delete {model} and its {number:,} vectors?"):
            raise CommandError("Nothing was deleted.")
        progress = Progress("Vectors deleted", number)
        embedding_model_switch.drop_model(model, progress.add)
        progress.end()


def _add_model_options(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="name of the model at the embedding endpoint")
    parser.add_argument("--dimensions", type=int, required=True)
    parser.add_argument("--template", default=TEMPLATE, help=f"of passages; default: {TEMPLATE}")
    parser.add_argument(
        "--sends-input-type",
        action="store_true",
        help="the server adds its own prefixes for queries and passages",
    )
    parser.add_argument("--query-prefix", default="", help="prefix of each query")
    parser.add_argument("--passage-prefix", default="", help="prefix of each passage")
    parser.add_argument(
        "--cosine-low", type=float, default=0.15, help="cosine of unrelated texts (e5: 0.77)"
    )
    parser.add_argument(
        "--cosine-high", type=float, default=0.75, help="cosine of the best answers (e5: 0.95)"
    )


def _get_model(number: int) -> EmbeddingModel:
    model_row = EmbeddingModel.objects.filter(pk=number).first()
    if model_row is None:
        raise CommandError(
            f"Model {number} does not exist. See {settings.COMMAND} embedding_models list."
        )
    return model_row
