"""Time of a round of signing while many accounts have a new commit, and the page of both costs."""

import time
from collections.abc import Sequence
from statistics import median

from kmapp.accounts.actions import create_account
from kmapp.accounts.models import Account
from kmapp.ledger.checkpoints import sign_moved_heads
from kmapp.management.account_lookup import list_all_accounts
from memory.benchmarks.checkpoint_write_overhead import (
    ROUNDS,
    SECONDS,
    WRITERS,
    CheckpointCost,
    write_memory,
)
from memory.benchmarks.seed_accounts import PREFIX

SIGNING_ROUNDS = 3


def measure_signing_rounds(number: int) -> list[float]:
    """Return the seconds of rounds that each sign one new commit of each of `number` accounts.

    Raise RuntimeError if a scheduler signs them first.
    """
    accounts = _ensure_accounts(number)
    sign_moved_heads()  # the commits before the first round
    seconds = []
    for _round in range(SIGNING_ROUNDS):
        for account in accounts:
            write_memory(account)
        began = time.perf_counter()
        results = sign_moved_heads()
        seconds.append(time.perf_counter() - began)
        signed = {each.account_id for each in results if not each.problem}
        if missing := {account.pk for account in accounts} - signed:
            raise RuntimeError(f"{len(missing)} accounts were not signed. Stop other schedulers.")
    return seconds


def render_section(
    origin: str, cost: CheckpointCost, number: int, round_seconds: Sequence[float]
) -> str:
    """Render the figures of checkpoints; `origin` states where they come from."""
    lines = [
        "## Checkpoints",
        "",
        origin,
        "",
        f"{WRITERS} writers write single memories to one chain, for {SECONDS:g} s while the",
        f"scheduler, which signs, is stopped, and for {SECONDS:g} s while it runs: the medians of",
        f"{ROUNDS} such rounds, the median of their ratios, and the longest time from a commit",
        f"to its signature. {cost.describe_target()}",
        "",
        "| writes per second without signing | with signing | ratio | signed after at most |",
        "| ---: | ---: | ---: | ---: |",
        f"| {cost.unsigned_rate:,.0f} | {cost.signed_rate:,.0f} | {cost.ratio:.2f} "
        f"| {cost.delay:.1f} s |",
        "",
        f"While each of {number:,} accounts has one new commit, a round of signing takes "
        f"{median(round_seconds):.2f} s",
        f"(median of {len(round_seconds)}; at most {max(round_seconds):.2f} s).",
    ]
    return "\n".join(lines) + "\n"


def _ensure_accounts(number: int) -> list[Account]:
    existing = {account.slug: account for account in list_all_accounts()}
    slugs = [f"{PREFIX}signing-{place:04}" for place in range(number)]
    return [existing.get(slug) or create_account(name=slug, slug=slug) for slug in slugs]
