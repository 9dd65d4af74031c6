"""manage.py prepare: everything between a running server and the first request, in one process."""

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from kmapp import env

UNREACHABLE = """\
The owner's database does not answer. If its roles are not made yet:
  .venv/bin/python manage.py provision --url postgresql://SUPERUSER:PASSWORD@HOST:5432/postgres"""


class Command(BaseCommand):
    help = "Provisions the server if we may, migrates, and prints what bootstrap made as JSON."
    requires_system_checks = []

    def handle(self, **_: object) -> None:
        if not env.text("DATABASE_URL") or env.text("DATABASE_SUPERUSER_URL"):
            call_command("provision", stdout=self.stderr)
        try:
            call_command("migrate", database="owner", interactive=False, stdout=self.stderr)
        except OperationalError as error:
            raise CommandError(f"{str(error).strip()}\n{UNREACHABLE}") from error
        call_command("bootstrap", json=True, stdout=self.stdout)
