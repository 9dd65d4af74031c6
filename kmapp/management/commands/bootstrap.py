"""Give an empty deployment an embedding model, an account, an admin and a key."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kmapp.accounts.actions import bootstrap
from kmapp.search.model_switch import ensure_default_model


class Command(BaseCommand):
    help = "Make the embedding model, the first account, its admin and its API key, if missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_default_model()
        made = bootstrap()
        told = {
            "account": made.account.slug if made else None,
            "email": made.user.email if made else None,
            "password": made.password if made else None,
            "api_key": made.key.secret if made else None,
        }
        if options["json"]:
            self.stdout.write(json.dumps(told))
        elif made:
            for name, value in told.items():
                self.stdout.write(f"{name}: {value}")
        else:
            self.stdout.write("There is an account already; nothing was made.")
