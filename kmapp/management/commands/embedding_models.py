"""Embedding models: which there are, and which one answers."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kmapp.providers.actions import ensure_default_model
from kmapp.providers.models import EmbeddingModel


class Command(BaseCommand):
    help = "List embedding models, or make sure of the default one."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="show the models")
        verbs.add_parser("ensure", help="make the default model and its index if there is none")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, options["verb"])(**options)

    def ensure(self, *, verbosity: int, **_: Any) -> None:
        model = ensure_default_model()
        if verbosity:
            self.stdout.write(f"{model} is active.")

    def list(self, **_: Any) -> None:
        for model in EmbeddingModel.objects.order_by("pk"):
            self.stdout.write(f"{model.pk}  {model.state:9} {model.dimensions:5}  {model.name}")
