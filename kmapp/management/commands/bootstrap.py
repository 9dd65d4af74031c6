"""Give an empty deployment an account, an admin and a key."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kmapp.accounts.actions import bootstrap


class Command(BaseCommand):
    help = "Create the first account, its admin and its API key, if there is no account yet."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
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
