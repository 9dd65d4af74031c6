"""manage.py prepare: all steps between a running server and the first request."""

import json
from io import StringIO

import structlog
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from kmapp.ledger.chain_deviations import list_deviations
from kmapp.ledger.checkpoint_copy_thread import compare_with_copies
from kmapp.runtime import stack

log = structlog.get_logger()

UNREACHABLE = (
    "Cannot connect to DATABASE_OWNER_URL. If its roles do not exist yet, run:\n  "
    "%s provision --url "
    "postgresql://SUPERUSER:PASSWORD@HOST:5432/postgres"
)


class Command(BaseCommand):
    help = (
        "Compare the checkpoints with their copies, provision the server if permitted, migrate, "
        "and print as JSON what bootstrap created and which chains differ from their last "
        "checkpoint."
    )
    requires_system_checks = []

    def handle(self, **_: object) -> None:
        compare_with_copies()
        if stack.may_provision():
            call_command("provision", stdout=self.stderr)
        try:
            call_command("migrate", interactive=False, stdout=self.stderr)
        except OperationalError as error:
            reason = str(error).strip()
            if getattr(error.__cause__, "sqlstate", None):  # a statement failed, not the connection
                raise CommandError(reason) from error
            raise CommandError(f"{reason}\n{UNREACHABLE % settings.COMMAND}") from error
        bootstrap_output = StringIO()
        call_command("bootstrap", json=True, stdout=bootstrap_output)
        deviations = list_deviations()
        for each in deviations:
            log.error(
                "ledger_behind_checkpoint",
                account=str(each.account_id),
                signed=each.signed_seq,
                ends=each.last_seq,
            )
        output = {
            "made": json.loads(bootstrap_output.getvalue()),
            "behind": [f"account {each.account_id} {each}" for each in deviations],
        }
        self.stdout.write(json.dumps(output))
