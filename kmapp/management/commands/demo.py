"""manage.py demo: load demo data of a fictional tea company, in English and Chinese."""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from kmapp.management.account_lookup import get_account
from kmapp.management.demo.actors import DemoActors


class Command(BaseCommand):
    help = "Load a small set of bilingual demo data into an account. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--account", metavar="SLUG", help="optional if there is only one account"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        actors = DemoActors.of(get_account(options["account"]))
        for name in settings.DEMO_LOADERS:
            self.stdout.write(import_module(name).load_demo(actors))
