"""manage.py checkpoint: sign the heads of all chains into a file outside the database."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.ledger.checkpoints import sign_all_heads
from kmapp.ledger.signing import format_public_key, load_signing_key


class Command(BaseCommand):
    help = "Sign the head of each chain that has changed since the last checkpoint."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--public-key", action="store_true", help="print the public key and sign nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["public_key"]:
            key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
            self.stdout.write(format_public_key(key.public_key()), ending="")
            return
        outcomes = sign_all_heads()
        broken = [(each.account_id, each.problem) for each in outcomes if each.problem]
        for each in outcomes:
            if each.problem is None:
                self.stdout.write(f"{each.account_id}  commit {each.head.seq}  signed")
        for account_id, problem in broken:
            self.stderr.write(
                f"{account_id}  commit {problem.seq}  {problem.kind}: {problem.message}"
            )
        if not outcomes:
            self.stdout.write("Every head was signed before.")
        if broken:
            raise CommandError(
                f"{len(broken)} chains are broken and were not signed: run {settings.COMMAND} fsck."
            )
