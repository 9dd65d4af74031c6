"""Steps of people and commands in the life of memories."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.management import CommandError
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from memory.models import MemoryEntry
from tests import makers
from tests.stateful import need, step
from tests.stateful.accounts import ModelledAccount
from tests.stateful.memory_model import Memory

THINGS = ("black tea", "green figs", "old maps")
sides = st.sampled_from((0, 1))
texts = st.sampled_from([f"The guest asked for {thing}." for thing in THINGS])
picks = st.integers(0, 30)
offsets = st.sampled_from((0, 0, 0, -1))  # of the version that the client saw


class PersonSteps(RuleBasedStateMachine):
    """Two accounts with memories, neither of which may see those of the other."""

    def __init__(self) -> None:
        super().__init__()
        self.sides = (ModelledAccount.create(), ModelledAccount.create())

    def pick(self, who: int, number: int) -> tuple[ModelledAccount, Memory]:
        """Return the account and one of its memories; skip the step if it has none."""
        side = self.sides[who]
        stored = side.model.stored()
        need(stored)
        return side, stored[number % len(stored)]

    @step(who=sides, number=picks, text=texts, offset=offsets)
    def edit(self, who: int, number: int, text: str, offset: int) -> None:
        side, memory = self.pick(who, number)
        seen = memory.version + offset
        need(seen >= 1)
        form = {"title": "", "content": text, "kind": "fact", "tags": "", "version": seen}
        status = side.act(f"/memory/{memory.id}/edit/", **form)
        assert status == (302 if side.model.edit(memory, seen, text) else 409), memory

    @step(who=sides, number=picks, to=st.integers(1, 5), offset=offsets)
    def revert(self, who: int, number: int, to: int, offset: int) -> None:
        """Restore the text and the dates of an earlier version, but not the status."""
        side, memory = self.pick(who, number)
        seen = memory.version + offset
        need(seen >= 1)
        status = side.act(f"/memory/{memory.id}/revert/", version=seen, to=to)
        if to > memory.version:
            assert status == 404
            return
        old = memory.versions[to - 1]
        done = side.model.decide(
            memory, seen, (memory.now.status,), text=old.text, expired=old.expired
        )
        assert status == (302 if done else 409), memory

    @step(
        who=sides,
        numbers=st.lists(picks, min_size=1, max_size=5, unique=True),
        offset=offsets,
        verb=st.sampled_from(("approve", "reject")),
    )
    def decide_in_bulk(self, who: int, numbers: list[int], offset: int, verb: str) -> None:
        """Proposals of which another version was seen are skipped."""
        side = self.sides[who]
        proposals = [each for each in side.model.stored() if each.now.status == "proposed"]
        need(proposals)
        chosen_proposals = [proposals[number % len(proposals)] for number in numbers]
        versions = {each.id: each.version for each in chosen_proposals}
        versions[chosen_proposals[0].id] += offset
        chosen = [f"{pk}:{version}" for pk, version in versions.items()]
        assert side.act("/review/bulk/", pick=chosen, deed=verb, reason="Seen.") == 302
        side.model.decide_bulk(side.find_new_run(), verb, versions)

    @step(who=sides, number=picks)
    def undo_bulk(self, who: int, number: int) -> None:
        side = self.sides[who]
        runs = list(side.model.runs)
        need(runs)
        run = runs[number % len(runs)]
        status = side.act(f"/review/bulk/{run}/undo/")
        assert status == (302 if side.model.undo_bulk(run) else 409)

    @step(who=sides, user=st.sampled_from(("ann", "bob")))
    def erase_user(self, who: int, user: str) -> None:
        side = self.sides[who]
        memories = [each for each in side.model.stored() if each.user == user]
        need(memories)
        assert side.agent.erase(user_id=user)["count"] == len(memories)
        for each in memories:
            each.erased = True
            side.expect(410, "get", {"id": each.id})

    @step(who=sides, name=st.sampled_from(("i1", "i2")), text=texts)
    def import_file(self, who: int, name: str, text: str) -> None:
        """Importing a line again changes nothing; one that differs is a problem."""
        side = self.sides[who]
        lines = [
            {"object": "memories", "format": 1},
            {"object": "entry", "client_id": name, "text": text, "user_id": "ann"},
        ]
        existing = side.model.named(name)
        is_problem = existing and (existing.erased or existing.now.text != text)
        with TemporaryDirectory() as folder:
            file = Path(folder) / "memories.jsonl"
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
            try:
                makers.run_command("memories", "import", file, account=side.account.slug)
            except CommandError:
                assert is_problem, existing
            else:
                assert not is_problem, existing
        if existing is None:
            row = makers.get(MemoryEntry, side.account, client_id=name)
            side.model.add(str(row.pk), text, "ann", client_id=name)
