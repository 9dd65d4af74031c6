"""Outbox handlers of the kernel."""

from collections.abc import Sequence

from kmapp.accounts.actors import Actor
from kmapp.management.demo.load_demo import REQUESTED, load_requested
from kmapp.outbox.registry import Job, register_handler


@register_handler(REQUESTED, name="kmapp.demo.load")
def load_demo(jobs: Sequence[Job]) -> None:
    for job in jobs:
        load_requested(job.account_id, Actor.parse(job.payload["by"]))
