"""manage.py accept_ledger: accept ledgers that are not the signed ones."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import User
from kmapp.ledger.accept_loss import accept_loss
from kmapp.ledger.chain_deviations import ChainDeviation, list_deviations
from kmapp.management.account_lookup import list_all_accounts


class Command(BaseCommand):
    help = (
        "List accounts whose ledger is older than its last checkpoint or differs from it, and "
        "accept their state, so that they can be changed again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("accounts", nargs="*", metavar="ACCOUNT", help="short name or ID")
        parser.add_argument("--all", action="store_true", help="accept all listed accounts")
        parser.add_argument("--reason", default="", help="why; the ledger records it")
        parser.add_argument(
            "--by",
            metavar="EMAIL",
            help="the superuser who accepts, whom the ledger names; optional if there is only one",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        slugs = {account.pk: account.slug for account in list_all_accounts()}
        listed = list_deviations()
        chosen = self._choose_ledgers(listed, slugs, options)
        if chosen and not options["reason"]:
            raise CommandError("Add --reason TEXT. The ledger records it.")
        actor = _get_actor(options["by"]) if chosen else SYSTEM
        for each in listed:
            name = slugs.get(each.account_id, "missing account")
            done = ""
            if each in chosen:
                statement = accept_loss(each.account_id, actor, reason=options["reason"])
                done = f"; accepted at commit {statement.seq}"
            self.stdout.write(f"{each.account_id}  {name}  {each}{done}")
        if not listed:
            self.stdout.write("Every ledger matches its last checkpoint.")

    def _choose_ledgers(
        self, listed: list[ChainDeviation], slugs: dict[UUID, str], options: dict[str, Any]
    ) -> list[ChainDeviation]:
        if options["all"]:
            return listed
        accounts = {
            name: each
            for each in listed
            for name in (str(each.account_id), slugs.get(each.account_id))
        }
        if unlisted := set(options["accounts"]) - set(accounts):
            names = ", ".join(sorted(unlisted))
            raise CommandError(f"Not listed: {names}. Run accept_ledger alone to see the list.")
        return [accounts[name] for name in options["accounts"]]


def _get_actor(email: str | None) -> Actor:
    """Return the superuser with this address, or the only one; the product if there is none."""
    superusers = User.objects.filter(is_superuser=True, is_active=True)
    if email is None and not superusers:
        return SYSTEM
    matches = superusers if email is None else superusers.filter(email__iexact=email)
    if len(matches) == 1:
        return Actor("user", matches[0].pk)
    emails = ", ".join(sorted(each.email for each in superusers)) or "none"
    if email is None:
        raise CommandError(f"Add --by EMAIL. The ledger names who accepts. Superusers: {emails}.")
    raise CommandError(f"{email} is no active superuser. Superusers: {emails}.")
