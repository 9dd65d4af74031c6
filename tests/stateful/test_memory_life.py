"""The life of memories: written, corrected, merged, reviewed, forgotten, erased and undone."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import hypothesis
import pytest
from django.core.management import call_command
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from tests import makers
from tests.stateful import forms, need, run, step
from tests.stateful.accounts import ModelledAccount, correct_in_thread
from tests.stateful.memory_model import Memory
from tests.stateful.person_steps import THINGS, PersonSteps, offsets, picks, sides, texts

USERS = ("ann", "bob", "")
ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
LONG_AGO = "2020-01-01T00:00:00Z"

users = st.sampled_from(USERS)
names = st.sampled_from(("c1", "c2", "c3"))


class MemoryLife(PersonSteps):
    """Steps of agents, and decisions about single memories."""

    @initialize(owners=st.lists(users, min_size=3, max_size=3), text=texts)
    def begin(self, owners: list[str], text: str) -> None:
        for who in range(2):
            self.write_batch(who=who, batch={"c1": text, "c2": text}, user="ann")
            for user, each in zip(owners, THINGS, strict=True):
                self.store(who=who, text=f"The guest asked for {each}.", user=user)

    @step(who=sides, text=texts, user=users)
    def store(self, who: int, text: str, user: str) -> None:
        side = self.sides[who]
        same = side.model.identical(text, user)
        body = {"text": text, **({"user_id": user} if user else {})}
        answer = side.expect(200 if same else 201, "store", body)
        if same:
            assert answer["id"] == same.id
        else:
            side.model.add(answer["id"], text, user, nameless=True)

    @step(who=sides, batch=st.dictionaries(names, texts, min_size=1), user=users)
    def write_batch(self, who: int, batch: dict[str, str], user: str) -> None:
        """A batch is written as a whole or not at all."""
        side, model = self.sides[who], self.sides[who].model
        owner = {"user_id": user} if user else {}
        nodes = [{"client_id": name, "text": text, **owner} for name, text in batch.items()]
        expected = [model.check_named(name, text, user) for name, text in batch.items()]
        status = 410 if 410 in expected else max(expected)
        if status == 201 or (status == 200 and 201 in expected):
            status = 201
        answer = side.expect(status, "write", {"nodes": nodes})
        if status > 201:
            return
        for node, (name, text), fresh in zip(answer["nodes"], batch.items(), expected, strict=True):
            if fresh == 201:
                model.add(node["id"], text, user, client_id=name)
            else:
                existing = model.named(name)
                assert existing
                assert existing.id == node["id"]

    @step(who=sides, text=texts, key=st.sampled_from(("k1", "k2")))
    def write_with_key(self, who: int, text: str, key: str) -> None:
        """The same key and body get the first response, another body is refused."""
        side, model = self.sides[who], self.sides[who].model
        body = {"nodes": [{"text": text, "user_id": "ann"}]}
        header = {"Idempotency-Key": key}
        if key not in model.keys:
            answer = side.expect(201, "write", body, **header)
            pk = answer["nodes"][0]["id"]
            model.add(pk, text, "ann", nameless=True)
            model.keys[key] = (text, 201, pk)
            return
        first, status, pk = model.keys[key]
        if model.memories[pk].erased:
            side.expect(410, "write", body, **header)
        elif first != text:
            assert side.expect(409, "write", body, **header)["error"] == "idempotency_mismatch"
        else:
            assert side.expect(status, "write", body, **header)["nodes"][0]["id"] == pk

    @step(who=sides, number=picks, text=texts, offset=offsets)
    def correct(self, who: int, number: int, text: str, offset: int) -> None:
        side, memory = self.pick(who, number)
        self._update(side, memory, {"text": text}, offset, text=text)

    @step(who=sides, number=picks, past=st.booleans())
    def expire(self, who: int, number: int, past: bool) -> None:  # noqa: FBT001
        side, memory = self.pick(who, number)
        self._update(side, memory, {"expires_at": LONG_AGO if past else None}, 0, expired=past)

    def _update(
        self,
        side: ModelledAccount,
        memory: Memory,
        body: dict[str, Any],
        offset: int,
        **values: Any,
    ) -> None:
        seen = memory.version + offset
        request = {"id": memory.id, "version": seen, **body}
        if seen < 1:
            side.expect(400, "update", request)
        elif seen == memory.version and memory.now.status == "active" and not memory.user:
            answer = side.expect(202, "update", request)
            text = values.get("text", memory.now.text)
            expired = values.get("expired", memory.now.expired)
            side.model.add(answer["id"], text, "", replaces=memory.id, expired=expired)
        elif side.model.correct(memory, seen, ("active", "proposed"), **values):
            assert side.expect(200, "update", request)["version"] == memory.version
        else:
            side.expect(409, "update", request)

    @step(who=sides, number=picks)
    def correct_at_once(self, who: int, number: int) -> None:
        """Of two corrections of one version, one succeeds."""
        side, memory = self.pick(who, number)
        need(memory.user and memory.now.status == "active")
        texts = ("The guest left at nine.", "The guest left at ten.")
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda text: correct_in_thread(side, memory, text), texts))
        assert sorted(status for status, _ in answers) == [200, 409], answers
        won = texts[[status for status, _ in answers].index(200)]
        assert side.model.correct(memory, memory.version, ("active",), text=won)

    @step(who=sides, number=picks)
    def forget(self, who: int, number: int) -> None:
        side, memory = self.pick(who, number)
        body, status = {"id": memory.id}, memory.now.status
        if status == "forgotten":
            assert side.expect(200, "forget", body)["version"] == memory.version
        elif status == "active" and not memory.user:
            side.expect(403, "forget", body)
        elif status == "rejected":
            side.expect(409, "forget", body)
        else:
            side.expect(200, "forget", body)
            side.model.decide(memory, memory.version, (status,), status="forgotten", pinned=False)

    @step(who=sides, user=st.sampled_from(("ann", "bob")))
    def forget_user(self, who: int, user: str) -> None:
        side = self.sides[who]
        counted = side.expect(200, "forget", {"user_id": user})
        assert counted["count"] == len(side.model.of_user(user))
        if counted["count"]:
            token = {"user_id": user, "confirm_token": counted["confirm_token"]}
            side.expect(200, "forget", token)
            side.model.forget_user(side.find_new_run(), user)
            side.expect(409, "forget", token)

    @step(who=sides, number=picks)
    def erase(self, who: int, number: int) -> None:
        side, memory = self.pick(who, number)
        counted = side.expect(200, "erase", {"ids": [memory.id]})
        token = {"ids": [memory.id], "confirm_token": counted["confirm_token"]}
        assert side.expect(200, "erase", token)["count"] == 1
        memory.erased = True
        side.expect(410, "get", {"id": memory.id})

    @step(
        who=sides,
        number=picks,
        offset=offsets,
        verb=st.sampled_from(("approve", "reject", "pin", "unpin", "undo")),
    )
    def decide(self, who: int, number: int, offset: int, verb: str) -> None:
        """A person decides on the pages."""
        side, memory = self.pick(who, number)
        seen = memory.version + offset
        need(seen >= 1)
        decide, model = side.model.decide, side.model
        every = ("active", "proposed", "superseded", "rejected", "forgotten")
        path = {"approve": "review", "reject": "review"}.get(verb, "memory")
        done: Callable[[], bool] = {
            "approve": lambda: model.approve(memory, seen),
            "reject": lambda: decide(memory, seen, ("proposed",), status="rejected"),
            "pin": lambda: decide(memory, seen, ("active", "proposed"), pinned=True),
            "unpin": lambda: decide(memory, seen, every, pinned=False),
            "undo": lambda: model.undo(memory, seen),
        }[verb]
        query = f"?version={seen}" if verb == "undo" else ""
        status = side.act(f"/{path}/{memory.id}/{verb}/{query}", version=seen, reason="Seen.")
        assert status == (302 if done() else 409), (verb, memory)

    @step(who=sides, number=picks, other=picks)
    def merge(self, who: int, number: int, other: int) -> None:
        side, new = self.pick(who, number)
        _, into = self.pick(who, other)
        need(new is not into and new.user == into.user)
        seen = (new.version, into.version)
        form = {"with": into.id, "version": seen[0], "known_version": seen[1]}
        status = side.act(f"/review/{new.id}/merge/", **form)
        assert status == (302 if side.model.merge(new, into, seen) else 409), (new, into)

    @step(who=sides, number=picks)
    def try_ids_of_the_other_account(self, who: int, number: int) -> None:
        _, memory = self.pick(who, number)
        other = self.sides[1 - who]
        for path, more in (
            ("get", {}),
            ("update", {"text": "Mine."}),
            ("forget", {}),
            ("erase", {}),
        ):
            other.expect(404, path, {"id": memory.id, **more})
        assert other.act(f"/memory/{memory.id}/pin/", version=memory.version) == 404

    @step(who=sides, user=users, text=texts)
    def recall(self, who: int, user: str, text: str) -> None:
        """Only visible memories are returned, among them one with this text if there is one."""
        side = self.sides[who]
        owner = {"user_id": user} if user else {}
        visible, body = side.model.visible(user), {"query": text, "limit": 200, **owner}
        results = {each["id"] for each in side.reader.search(text, limit=200, **owner)}
        assert results <= visible
        memories = side.model.memories
        assert any(memories[pk].now.text == text for pk in visible) == any(
            memories[pk].now.text == text for pk in results
        )
        all_ids = {pk for each in self.sides for pk in each.model.memories}
        for path in ("recall_text", "inject"):
            answer = json.dumps(side.reader.post(f"memory/{path}", {**body, "limit": 50}, 200))
            assert set(ID.findall(answer)) & all_ids <= visible, path

    @step()
    def work(self) -> None:
        makers.settle()

    def teardown(self) -> None:
        makers.settle()
        for who, side in enumerate(self.sides):
            for user in USERS:
                self.recall(who, user, "The guest asked for black tea.")
            list_results = {
                m["id"]: m for m in side.agent.post("memory/list", {"limit": 200})["results"]
            }
            assert list_results.keys() == {memory.id for memory in side.model.stored()}
            for memory in side.model.stored():
                row = list_results[memory.id]
                assert (row["text"], row["status"], row["version"], row["pinned"]) == (
                    *(memory.now.text, memory.now.status, memory.version, memory.now.pinned),
                )
            assert side.agent.get("memory/verify")["ok"]
            call_command("fsck", account=side.account.slug, stdout=StringIO())


@pytest.mark.usefixtures("committed", "tokenizer")
@forms(short=6, steps=30)
def test_memories_live_as_modelled(form: hypothesis.settings) -> None:
    run(MemoryLife, form)
