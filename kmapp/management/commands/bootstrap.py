"""manage.py bootstrap: create an embedding model, an account, an admin and a key."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kmapp.accounts.actions import bootstrap
from kmapp.search.embedding_model_switch import ensure_default_model


class Command(BaseCommand):
    help = "Create the embedding model, the first account, its admin and its API key, if missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_default_model()
        result = bootstrap()
        output = {
            "account": result.account.slug if result else None,
            "email": result.user.email if result else None,
            "password": result.password if result else None,
            "api_key": result.key.secret if result else None,
        }
        if options["json"]:
            self.stdout.write(json.dumps(output))
        elif result:
            for name, value in output.items():
                self.stdout.write(f"{name}: {value}")
        else:
            self.stdout.write("An account already exists. Nothing was created.")
