"""Search over everything: results, permissions, filters, and the number of queries."""

import re

from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from context.actions.archives import store_archives
from context.models import ContextSettings, ToolResultArchive
from context.models.archives import NewResult
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from memory.actions.review import pin
from memory.models.entry_input import NewEntry
from tests import makers
from tests.context.builders import fill_calls
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.makers import missing
from tests.memory.test_topic_actions import topic
from tests.rules.builders import add_rule
from tests.web.pages import HTMX, page

GROUP = re.compile(r'id="found-(\w+)"')
RESULT = re.compile(r'<a class="strong" href="([^"]+)">')
ALL_TYPES = ["page", "memory", "topic", "document", "lore", "rule", "tool_result", "call", "member"]


def displayed(client: Client, text: str) -> str:
    return page(client.get("/search/", {"q": text}))


def types(client: Client, text: str) -> list[str]:
    """Return the types of the results."""
    return GROUP.findall(displayed(client, text))


def archive(account: Account, text: str) -> None:
    with acting(account):
        settings = ContextSettings.objects.get_or_default(account.pk)
        store_archives(settings, SYSTEM, [NewResult(text=text, tool_name="browse")])


def fill(account: Account, word: str) -> None:
    """Create one object of each kind that contains the word, except a call."""
    makers.write(account, NewEntry(text=f"The {word} opens at nine.", user_id="mira"))
    topic(account, f"About the {word}", 1)
    deliver(account, {"guide.md": f"# Guide\n\nThe {word} is quiet in the morning."})
    with acting(account):
        book = ensure_source(account.pk, SYSTEM, NewSource(name="lore", kind="lorebook"))
        add_entries(book, SYSTEM, [{"name": f"{word} lore", "content": "Old.", "keys": ["old"]}])
    add_rule(account, f"Rule of the {word}", "shadow")
    archive(account, f"The {word} is on page one.")


def test_everything_of_the_own_account_is_found_by_its_words(
    admin: Client, acme: Account, rival: Account, provider: FakeProvider
) -> None:
    fill(rival, "calls")
    makers.settle()
    assert types(admin, "calls") == ["page"]
    expected = [name for name in ALL_TYPES if name not in ("call", "member")]
    for language, word in (("en", "calls"), ("zh-hans", "调用")):
        admin.post("/preferences/", {"language": language})
        fill(acme, word)
        makers.settle()
        assert types(admin, word) == expected, word
        options = page(admin.get("/search/palette/", {"q": word}, headers=HTMX))
        assert missing(options, *(f'id="palette-{name}-1"' for name in expected)) == []


def test_calls_and_members_are_found_by_name(
    admin: Client, reviewer: Client, acme: Account, ada: User
) -> None:
    fill_calls(acme, 1, word="kiln")
    assert types(admin, "run-kiln") == ["call"]
    assert types(admin, "run:run-kiln-0 type:call") == ["call"]
    assert types(admin, ada.email) == ["member"]
    assert types(reviewer, ada.email) == [], "members are for admins"
    refusal = displayed(reviewer, "type:member")
    assert "“member” is not a value of type:. Values: page, memory, topic" in refusal


def test_filters_narrow(reviewer: Client, acme: Account) -> None:
    tea, _other = makers.write(
        acme,
        NewEntry(text="Mira likes tea.", user_id="mira", kind="fact", tags=["drinks"]),
        NewEntry(text="Lin likes tea.", user_id="lin", kind="preference"),
    )
    with acting(acme):
        pin(makers.decision(tea))
    for text in (
        "tea kind:fact",
        "tea user:mira",
        "is:pinned",
        "tag:drinks",
        'type:memory "likes tea" USER:"mira"',
        str(tea.pk),
        "likes mir",
    ):
        results = RESULT.findall(displayed(reviewer, text))
        assert f"/memory/{tea.pk}/" == results[0], text
        assert len(results) == 1 or text == "likes mir", text


def test_phrases_match_exactly(reviewer: Client, acme: Account) -> None:
    exact, _mixed = makers.write(acme, "Tea at noon in the room.", "Noon: tea at the room.")
    assert RESULT.findall(displayed(reviewer, '"tea at noon"')) == [f"/memory/{exact.pk}/"]
    assert len(RESULT.findall(displayed(reviewer, "tea at noon"))) == 2
    archive(acme, "The red kettle sings.")
    archive(acme, "A kettle that is red.")
    assert len(RESULT.findall(displayed(reviewer, "type:tool_result kettle"))) == 2
    [url] = RESULT.findall(displayed(reviewer, 'type:tool_result "red kettle"'))
    assert str(makers.get(ToolResultArchive, acme, result_full="The red kettle sings.").pk) in url


def test_bad_filters_are_explained(reviewer: Client) -> None:
    for text, message in (
        ("tea colour:red", "There is no filter “colour:”. Filters: type:, kind:, status:"),
        ("kind:vact", "“vact” is not a value of kind:. Values: fact, preference"),
        ("<b>x</b> x<y:z kind:<i>", "“&lt;i&gt;” is not a value of kind:."),
        ('user:""', "“” is not a value of user:. Values: any text"),
    ):
        assert missing(displayed(reviewer, text), message) == []
        assert missing(page(reviewer.get("/search/palette/", {"q": text})), message) == []


def test_hostile_text_is_escaped_and_highlighted(reviewer: Client, acme: Account) -> None:
    makers.write(acme, "<script>alert(1)</script> \u202e<b hx-get=/x>kettle</b>")
    result = displayed(reviewer, "kettle")
    assert missing(result, "<mark>kettle</mark>", "&lt;script&gt;", "U+202E") == []
    assert "<script>alert" not in result
    reflected = displayed(reviewer, '"><script>alert(2)</script>')
    assert "<script>alert(2)" not in reflected
    for text in ("\x00", "%", "_", "\\", "'", '"', "a" * 400, "\U0001f375", "-- ;", "type:"):
        displayed(reviewer, text)


def test_counts_are_capped_and_lead_to_more(reviewer: Client, acme: Account) -> None:
    makers.write(acme, *(f"Tea number {n}." for n in range(101)))
    first = displayed(reviewer, "tea")
    assert missing(first, "99+", 'href="?q=tea+type%3Amemory"') == []
    assert len(RESULT.findall(first)) == 10
    assert len(RESULT.findall(displayed(reviewer, "tea type:memory"))) == 50


def test_pages_are_found_in_both_languages(admin: Client, reviewer: Client) -> None:
    links = ('href="/rules/new/"', 'href="/members/new/"')
    assert missing(page(reviewer.get("/search/palette/")), *links) == [links[1]]
    assert missing(page(admin.get("/search/palette/")), *links) == []
    assert RESULT.findall(displayed(admin, "new rule")) == ["/rules/new/"]
    assert RESULT.findall(displayed(admin, "rotate key")) == ["/keys/"]
    admin.post("/preferences/", {"language": "zh-hans"})
    assert RESULT.findall(displayed(admin, "新建规则")) == ["/rules/new/"]
    assert RESULT.findall(displayed(admin, "new rule")) == ["/rules/new/"]


def test_query_budget(
    admin: Client, acme: Account, provider: FakeProvider, max_queries: MaxQueries
) -> None:
    for n in range(8):
        fill(acme, f"kettle {n}")
    makers.settle()
    assert len(types(admin, "kettle")) == 6
    with max_queries(30):
        displayed(admin, "kettle run")
    with max_queries(26):
        page(admin.get("/search/palette/", {"q": "kettle run"}))
