"""manage.py outbox: list pending and failed jobs, and retry them."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.management.account_lookup import list_accounts
from kmapp.management.argument_types import parse_count
from kmapp.management.confirmation import confirm
from kmapp.outbox.failed_deliveries import retry_deliveries
from kmapp.outbox.models import Delivery, DeliveryQuerySet
from kmapp.outbox.purge import purge_account

ERROR_WIDTH = 100
_DURATION = re.compile(r"\A(\d+)([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Command(BaseCommand):
    help = "List pending and failed jobs, retry failed ones, and delete records of finished ones."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        listing = verbs.add_parser("list", help="list deliveries, oldest first")
        _add_filters(listing)
        listing.add_argument("--state", choices=Delivery.State.values, type=str.upper)
        limit = partial(parse_count, least=0)
        listing.add_argument("--limit", type=limit, default=20, help="per account; default: 20")
        replay = verbs.add_parser("replay", help="retry failed jobs")
        _add_filters(replay)
        replay.add_argument(
            "ids", nargs="*", type=UUID, help="IDs of deliveries; default: all failed ones"
        )
        replay.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        purge = verbs.add_parser("purge", help="delete events whose jobs are all finished")
        purge.add_argument("--account", metavar="SLUG")
        purge.add_argument("--older-than", type=_parse_duration, required=True, metavar="30d")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, options["verb"])(**options)

    def list(self, **options: Any) -> None:
        for account in list_accounts(options["account"]):
            with acting(account):
                self._list_jobs(account, options)

    def _list_jobs(self, account: Account, options: dict[str, Any]) -> None:
        rows = _filter_deliveries(account, options["handler"])
        rows = rows.in_state(options["state"]) if options["state"] else rows.filter(done_at=None)
        self.stdout.write(f"{account.slug}: {rows.count():,} deliveries")
        counts = rows.values_list("handler").annotate(Count("pk"))
        for handler, number in counts.order_by("handler"):
            self.stdout.write(f"  {number:8,}  {handler}")
        for row in rows.select_related("event").order_by("due_at", "pk")[: options["limit"]]:
            why = row.last_error or row.reason
            self.stdout.write(
                f"  {row.pk}  {row.state:9}  {row.attempts} tried"
                f"  due {row.due_at:%Y-%m-%d %H:%M:%S}  {row.event}"
                + (f"\n    {why[:ERROR_WIDTH]}" if why else "")
            )

    def replay(self, **options: Any) -> None:
        dead: dict[UUID, list[UUID]] = {}
        for account in list_accounts(options["account"]):
            with acting(account):
                rows = _filter_deliveries(account, options["handler"]).dead()
                rows = rows.filter(pk__in=options["ids"]) if options["ids"] else rows
                dead[account.pk] = list(rows.values_list("pk", flat=True))
        number = sum(map(len, dead.values()))
        if not number:
            raise CommandError("No failed job matches.")
        if not options["yes"] and not confirm(f"Retry {number:,} jobs?"):
            raise CommandError("Nothing was changed.")
        revived = 0
        for account_id, ids in dead.items():
            with acting(account_id):
                revived += retry_deliveries(account_id, ids)
        self.stdout.write(f"{revived:,} jobs will be retried.")

    def purge(self, **options: Any) -> None:
        accounts = list_accounts(options["account"])
        purged = sum(purge_account(each.pk, options["older_than"]) for each in accounts)
        self.stdout.write(f"{purged:,} events were deleted.")


def _add_filters(parser: ArgumentParser) -> None:
    parser.add_argument("--account", metavar="SLUG", help="default: every account")
    parser.add_argument("--handler", help="only handlers whose name contains this text")


def _filter_deliveries(account: Account, handler: str | None) -> DeliveryQuerySet:
    rows = Delivery.objects.of(account)
    return rows.filter(handler__contains=handler) if handler else rows


def _parse_duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if not match:
        raise ArgumentTypeError(
            f"{text!r} is not a duration. Use a number with s, m, h, d or w, for example 30d."
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
