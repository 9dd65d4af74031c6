"""Nobody reaches into another account, by any address or method (reliability 22).

Every route is asked twice: for a row of the victim's, and for one that nobody has. Both answers are
the same, and the victim's rows stay as they are. A route without a probe fails the test.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpResponse
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import ApiKey, Membership, User
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery, OutboxEvent
from memory.models import MemoryEntry
from tests.estate import Estate, account_tables, estate
from tests.routes import Route, routes

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
NOT_THERE = {403, 404, 405}

# What the id in an address is of, by the beginning of the route's name.
KINDS: dict[str, type[Model]] = {
    "memory:": MemoryEntry,
    "api:event": OutboxEvent,
    "web:key_": ApiKey,
    "web:member_": Membership,
    "web:delivery": Delivery,
    "web:commit": Commit,
}
# Routes of the API that take ids, names or words in their body.
BODIES: dict[str, Callable[["Known"], list[dict[str, Any]]]] = {
    "memory:api_get": lambda known: [{"id": known.entry}, {"client_id": known.client_id}],
    "memory:api_update": lambda known: [
        {"id": known.entry, "text": "Mine now."},
        {"client_id": known.client_id, "text": "Mine now."},
    ],
    "memory:api_forget": lambda known: [{"id": known.entry}, {"client_id": known.client_id}],
    "memory:api_search": lambda known: [
        {"query": known.word},
        {"query": known.word, "user_id": f"user-{known.word}"},
        {"query": known.word, "run_id": f"run-{known.word}", "user_id": f"user-{known.word}"},
    ],
    "memory:api_write": lambda known: [
        {
            "nodes": [{"text": "Mine.", "client_id": "mine"}],
            "edges": [{"type": "part_of", "src": {"client_id": "mine"}, "dst": end}],
        }
        for end in ({"id": known.entry}, {"client_id": known.client_id})
    ],
}
# What a body may be answered that names a row of somebody else's. The end of an edge that is not
# there makes the whole batch invalid; words that are not there are found nowhere.
ANSWERS = {"memory:api_write": {400}, "memory:api_search": {200}}
# Pages whose forms or queries take a reference to something.
FORMS = {
    *("memory:entries", "memory:review", "memory:summary", "web:account", "web:replay"),
    *("web:member_add", "web:ledger", "web:keys", "web:members", "web:operations"),
}
# Routes that take no reference to anything: what they answer must tell nothing, that is all. The
# last takes a login, which is the deployment's: a superuser is told that it is taken.
ALONE = {
    *("api:liveness", "api:health", "api:metrics", "api:version", "api:schema", "api:docs"),
    *("memory:api_store", "memory:api_commits", "memory:api_verify"),
    *("web:home", "web:sign_in", "web:sign_out", "web:password", "web:preferences"),
    *("web:key_issue", "web:policy", "web:ledger_verify"),
    *("web:ledger_summary", "web:operations_summary", "admin:accounts_user_add"),
}


@dataclass(frozen=True, kw_only=True)
class Known:
    """What an intruder knows: of the victim, or made up."""

    entry: str
    word: str
    account: str
    delivery: str
    model_id: str = ""

    @property
    def client_id(self) -> str:
        return f"{self.word}-1"

    @classmethod
    def of(cls, victim: Estate, model: type[Model] = MemoryEntry) -> "Known":
        return cls(
            entry=str(victim.id_of(MemoryEntry)),
            word=victim.word,
            account=str(victim.account.pk),
            delivery=str(victim.id_of(Delivery)),
            model_id=str(victim.id_of(model)),
        )

    @classmethod
    def made_up(cls) -> "Known":
        ids = {name: str(uuid4()) for name in ("entry", "account", "delivery", "model_id")}
        return cls(word=f"acme{uuid4().hex[:8]}", **ids)

    def form(self) -> dict[str, str]:
        """All fields that our forms and queries have; each takes what it knows."""
        return {
            "at": self.entry,
            "delivery": self.delivery,
            "account": self.account,
            "_selected_action": self.model_id,
            "action": "delete_selected",
            "post": "yes",
            "q": self.word,
            "user_id": f"user-{self.word}",
            "run_id": f"run-{self.word}",
            "email": f"ada-{self.word}@example.test",
            "name": "Ada",
            "role": "admin",
            "version": "1",
            "to": "1",
            "content": "Mine.",
            "title": "Mine",
            "kind": "fact",
            "reason": "none",
            "then": "approve",
            "next": "/",
        }

    def without(self, text: str) -> str:
        """An answer as it would be, had something else been asked for."""
        for said in (self.model_id, self.entry, self.delivery, self.account, self.word):
            text = text.replace(said, "•") if said else text
        return re.sub(r"[A-Za-z0-9]{64}", "‡", text)  # tokens of forms


class Intruder:
    """Somebody with every right in an account of their own."""

    def __init__(self, home: Estate, *, as_agent: bool) -> None:
        self.as_agent = as_agent
        headers = {"X-Request-Id": "probe"}
        if as_agent:
            headers["Authorization"] = f"Bearer {home.secret}"
        self.client = Client(headers=headers)
        if not as_agent:
            self.client.force_login(home.admin)

    def ask(self, method: str, path: str, said: dict[str, Any] | None = None) -> HttpResponse:
        as_json = self.as_agent and method != "GET"
        more = {"content_type": "application/json"} if as_json else {}
        answer: HttpResponse = getattr(self.client, method.lower())(path, said or {}, **more)
        self.client.cookies.pop("messages", None)  # else the next page says them
        return answer


@pytest.fixture
def victim(committed: str) -> Estate:
    return estate("Acme")


@pytest.fixture
def rival_estate(committed: str) -> Estate:
    return estate("Rival")


def test_no_address_of_the_api_leads_there(victim: Estate, rival_estate: Estate) -> None:
    """With a key that may do everything (ASVS 8.4.1, 8.2.2)."""
    assert complaints(filter(is_api, routes()), victim, rival_estate) == []


def test_no_page_leads_there(victim: Estate, rival_estate: Estate) -> None:
    """As an admin of an account."""
    pages = [route for route in routes() if not is_api(route) and not is_stock(route)]
    assert complaints(pages, victim, rival_estate) == []


def test_no_page_of_the_stock_admin_leads_there(victim: Estate, rival_estate: Estate) -> None:
    """As a superuser, who has a seat in one account."""
    rival_estate.admin.is_staff = rival_estate.admin.is_superuser = True
    rival_estate.admin.save()
    assert complaints(filter(is_stock, routes()), victim, rival_estate) == []


def test_a_name_that_another_account_gave_cannot_be_taken(
    victim: Estate, rival_estate: Estate
) -> None:
    """Ids are one name space: whoever sends one that is taken is refused, and changes nothing."""
    before = victim.fingerprint()
    with acting(victim.account):
        ids = MemoryEntry.objects.of(victim.account).values_list("pk", flat=True)
        taken = [str(each) for each in ids]
    for each in taken:
        refused = rival_estate.agent.client.post(
            "/v1/memory/store", {"text": "Mine.", "id": each}, format="json"
        )
        assert refused.status_code in (400, 409)
        assert not victim.tells(refused.content.decode().replace(each, ""))
    assert victim.fingerprint() == before


def complaints(asked: Iterable[Route], victim: Estate, rival: Estate) -> list[str]:
    before = victim.fingerprint()
    found = [f"{route.name}: {each}" for route in asked for each in probe(route, victim, rival)]
    changed = victim.fingerprint()
    return found + [f"{table} was changed" for table in before if before[table] != changed[table]]


def probe(route: Route, victim: Estate, rival: Estate) -> Iterator[str]:
    """What is wrong with a route."""
    intruder = Intruder(rival, as_agent=is_api(route))
    kind = kind_of(route)
    known, nobodys = Known.of(victim, kind or MemoryEntry), Known.made_up()
    if route.name in ALONE or (is_stock(route) and kind is None):
        yield from probe_telling(route, intruder, victim)
    elif route.places and kind is None:
        yield "say in KINDS what its id is of"
    elif route.places:
        yield from probe_address(route, intruder, known, nobodys)
        yield from probe_is_real(route, victim, known)
    elif route.name in BODIES:
        yield from probe_bodies(route, intruder, known, nobodys)
    elif route.name in FORMS or is_stock(route):
        yield from probe_forms(route, intruder, known, nobodys)
    else:
        yield "has no probe: give it one in BODIES or FORMS, or say that it stands ALONE"


def probe_telling(route: Route, intruder: Intruder, victim: Estate) -> Iterator[str]:
    """For what is asked about nobody in particular."""
    for method in METHODS:
        answer = intruder.ask(method, route.at(**dict.fromkeys(route.places, 1)))
        whole = b"".join(answer) if answer.streaming else answer.content
        if victim.tells(whole.decode()):
            yield f"{method} tells"


def probe_address(route: Route, intruder: Intruder, known: Known, made_up: Known) -> Iterator[str]:
    for method in METHODS:
        theirs, nobodys = (
            intruder.ask(method, address(route, each), each.form() if method == "POST" else {})
            for each in (known, made_up)
        )
        if shown(theirs, known) != shown(nobodys, made_up):
            yield f"{method} answers {theirs.status_code} otherwise than for an id of nobody's"
        # The stock admin leads away from what is not there.
        away = is_stock(route) and theirs.status_code == 302
        if theirs.status_code not in NOT_THERE and not away:
            yield f"{method} answers {theirs.status_code}"


def probe_is_real(route: Route, victim: Estate, known: Known) -> Iterator[str]:
    """The same address is something to its owner, or the probe proves nothing."""
    if is_stock(route):
        return
    own = Intruder(victim, as_agent=is_api(route)).ask("GET", address(route, known))
    if own.status_code not in (200, 302, 405):
        yield f"answers {own.status_code} to its owner"


def probe_bodies(route: Route, intruder: Intruder, known: Known, made_up: Known) -> Iterator[str]:
    allowed = ANSWERS.get(route.name, {404})
    for body, other in zip(BODIES[route.name](known), BODIES[route.name](made_up), strict=True):
        theirs = intruder.ask("POST", route.at(), body)
        nobodys = intruder.ask("POST", route.at(), other)
        if shown(theirs, known) != shown(nobodys, made_up):
            yield f"answers {theirs.status_code} to {body} otherwise than for nobody's"
        if theirs.status_code not in allowed:
            yield f"answers {theirs.status_code} to {body}"
        named = intruder.ask("POST", route.at(), {**body, "account_id": known.account})
        if named.status_code != 403:
            yield f"answers {named.status_code} to another account's name"
    for method in set(METHODS) - {"POST"}:
        if intruder.ask(method, route.at()).status_code not in NOT_THERE:
            yield f"{method} does something"


def probe_forms(route: Route, intruder: Intruder, known: Known, made_up: Known) -> Iterator[str]:
    for method in METHODS:
        theirs = intruder.ask(method, route.at(), known.form())
        nobodys = intruder.ask(method, route.at(), made_up.form())
        if shown(theirs, known) != shown(nobodys, made_up):
            yield f"{method} answers {theirs.status_code} otherwise than for nobody's"


def is_api(route: Route) -> bool:
    return route.template.startswith(("v1/", "health", "metrics"))


def is_stock(route: Route) -> bool:
    """A page of Django's admin."""
    return route.name.startswith("admin:")


def kind_of(route: Route) -> type[Model] | None:
    """What a route is about; None if that belongs to no account."""
    if not is_stock(route):
        return next((kind for name, kind in KINDS.items() if route.name.startswith(name)), None)
    app, model = [*route.template.split("/"), "", ""][1:3]
    found = MemoryEntry if app == "r" else apps.all_models.get(app, {}).get(model)
    owned = found and (found is User or found._meta.db_table in account_tables())
    return found if owned else None


def address(route: Route, known: Known) -> str:
    values = dict.fromkeys(route.places, known.model_id)
    if "content_type_id" in values:
        values["content_type_id"] = str(ContentType.objects.get_for_model(MemoryEntry).pk)
    return route.at(**values) + "?version=1"


def shown(answer: HttpResponse, known: Known) -> tuple[int, str, str]:
    """An answer without what was asked for."""
    body = known.without(answer.content.decode())
    return answer.status_code, known.without(answer.headers.get("Location", "")), body
