"""manage.py provision: create roles, database and grants as superuser."""

from argparse import ArgumentParser

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from kmapp.database.provision import CannotProvision, Login, provision
from kmapp.management.database_addresses import get_server_url
from kmapp.runtime import env


class Command(BaseCommand):
    help = (
        "Create the two roles and the database of DATABASE_OWNER_URL and DATABASE_URL, the "
        "vector extension and the grants. Safe to repeat."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--url",
            default=env.text("DATABASE_SUPERUSER_URL"),
            help=(
                "superuser URL of the server; default: DATABASE_SUPERUSER_URL, or the embedded "
                "server"
            ),
        )

    def handle(self, *, url: str, **_: object) -> None:
        if url and not env.text("DATABASE_URL"):
            raise CommandError(
                "Set DATABASE_OWNER_URL and DATABASE_URL to the two roles to create on that server."
            )
        try:
            owner, app = settings.DATABASES["owner"], settings.DATABASES["default"]
        except KeyError:
            raise CommandError("Set DATABASE_OWNER_URL as well as DATABASE_URL.") from None
        if owner["NAME"] != app["NAME"]:
            raise CommandError("DATABASE_OWNER_URL and DATABASE_URL name different databases.")
        try:
            provision(
                get_server_url(url),
                database=str(app["NAME"]),
                owner=Login(str(owner["USER"]), str(owner["PASSWORD"])),
                app=Login(str(app["USER"]), str(app["PASSWORD"])),
                session=settings.DATABASE_SESSION,
            )
        except CannotProvision as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"The database {app['NAME']} is ready for migrate.")
