"""The policy page and retention."""

from datetime import timedelta
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, User
from memory.actions.review import pin, undo
from memory.actions.settings import update_policy
from memory.jobs.tasks import forget_expired_memories
from memory.models import MemoryEntry, MemorySettings, MemoryVersion
from tests import makers
from tests.makers import missing
from tests.web.pages import html, page, read_confirmation


def settings_of(account: Account) -> MemorySettings:
    with acting(account):
        return MemorySettings.objects.get_or_default(account.pk)


def written(account: Account, *texts: str, days_ago: int, kind: str = "event") -> list[MemoryEntry]:
    """Write memories that were last changed this many days ago."""
    new = makers.write(account, *texts, kind=kind, user_id="ada")
    then = timezone.now() - timedelta(days=days_ago)
    ids = [entry.pk for entry in new]
    MemoryEntry.objects.of(account).filter(pk__in=ids).update(created_at=then, updated_at=then)
    return new


def test_reviewer_can_view_but_not_change(
    client: Client, alice: User, acme: Account, max_queries: MaxQueries
) -> None:
    client.force_login(alice)
    with max_queries(16):
        page = client.get("/policy/")
    assert page.status_code == 200
    assert "<fieldset disabled>" in html(page)
    assert 'type="submit">Save' not in html(page)
    assert client.post("/policy/set/", {"section": "redaction", "version": "0"}).status_code == 403
    assert settings_of(acme).version == 0


def test_admin_changes_every_section(admin: Client, acme: Account, key: tuple[ApiKey, str]) -> None:
    content: dict[str, dict[str, Any]] = {
        "review": {"visibilities": ["user"], "review_kinds": ["skill"], "review_keys": [key[0].pk]},
        "redaction": {"redact": ["secret"]},
        "flags": {"duplicate_score": "0.9", "contradiction_score": "0.7"},
        "use": {"store_threshold": "0.6", "inject_max_memories": "8", "min_score": "0.25"},
        "retention": {"event": "90", "fact": ""},
        "extraction": {
            "instructions": "Note the numbers of orders.",
            "categories": "orders: what was bought\n\n客诉：抱怨了什么",
        },
    }
    for version, (section, values) in enumerate(content.items()):
        form = {"section": section, "version": version, "reason": f"Why {section}.", **values}
        assert admin.post("/policy/set/", form).headers["Location"] == "/policy/", section
    result = settings_of(acme)
    assert (result.account.account_wide, result.account.redact) == ("apply", ["secret"])
    assert (result.review_visibilities, result.review_kinds) == (["user"], ["skill"])
    assert result.review_keys == [str(key[0].pk)]
    assert (result.duplicate_score, result.contradiction_score) == (0.9, 0.7)
    assert (result.memory_enabled, result.auto_store, result.inject_max_memories) == (
        False,
        False,
        8,
    )
    assert result.forget_after == {"event": 90}
    assert result.instructions == "Note the numbers of orders."
    assert result.categories == {"orders": "what was bought", "客诉": "抱怨了什么"}
    text = html(admin.get("/policy/"))
    assert missing(text, "Why use.", "event 90 days", "skill", "test key", "Ada", "commit ") == []
    for before, after in (("0.5", "0.6"), ("on", "off"), ("no limit", "event 90 days")):
        assert f"<del><bdi hx-disable>{before}</bdi></del>" in text
        assert f"<ins><bdi hx-disable>{after}</bdi></ins>" in text


def test_rejects_invalid_forms(admin: Client, acme: Account) -> None:
    use = {"section": "use", "store_threshold": "2", "inject_max_memories": "5", "min_score": "0"}
    extraction, key = {"section": "extraction"}, "11111111-1111-7111-8111-111111111111"
    forms: tuple[tuple[dict[str, Any], int], ...] = (
        (use, 422),
        ({"section": "retention", "event": "-1"}, 422),
        (extraction | {"categories": "orders"}, 422),
        (extraction | {"categories": f"orders: {'x' * 400}"}, 422),
        (extraction | {"instructions": "x" * 4_001}, 422),
        ({"section": "review", "review_keys": [key]}, 422),
        ({"section": "nowhere"}, 400),
        ({}, 400),
    )
    for form, status in forms:
        answer = admin.post("/policy/set/", {"version": "0", **form})
        assert answer.status_code == status, form
    assert settings_of(acme).version == 0


def test_category_is_named_before_the_first_colon(admin: Client, acme: Account) -> None:
    text = "orders: what：when\n客诉：抱怨: 什么"
    form = {"section": "extraction", "version": "0", "categories": text}
    assert admin.post("/policy/set/", form).status_code == 302
    categories = {"orders": "what：when", "客诉": "抱怨: 什么"}
    assert settings_of(acme).categories == categories


def test_rejects_a_stale_version(admin: Client, acme: Account) -> None:
    makers.set_policy(acme, {"min_score": 0.1})
    form = {"section": "redaction", "version": "0", "redact": []}
    assert "Someone changed the policy" in page(admin.post("/policy/set/", form), 409)
    assert settings_of(acme).account.redact != []


def test_rejected_form_keeps_its_version_and_reason(admin: Client, acme: Account) -> None:
    makers.set_policy(acme, {"min_score": 0.1})
    for section, path in (("retention", "/policy/set/"), ("inputs", "/calls/settings/set/")):
        form = {"section": section, "version": "7", "reason": "Why?", "event": "x"}
        text = page(admin.post(path, form | {"inputs_days": "0"}), 422)
        assert text.count('name="version" value="7"') == text.count('value="Why?"') == 1
        assert f'action="{path}#{section}"' in text, "the browser goes to the section"
        menu = f'name="next" value="{path.removesuffix("set/")}"'
        assert menu in text, "the menu of the person leads back to a page"
    form = {"version": "7", "reason": "Why?", "retention_days": "0"}
    text = page(admin.post("/tool-results/keeping/set/", form), 422)
    assert missing(text, 'name="version" value="7"', 'value="Why?"') == []
    text = page(admin.post("/rules/gate/set/", {"seen": str(acme.pk), "reason": "Why?"}), 422)
    assert missing(text, f'name="seen" value="{acme.pk}"', 'value="Why?"') == []


def test_retention_that_forgets_needs_confirmation(admin: Client, acme: Account) -> None:
    with acting(acme):
        old = written(acme, "An old event.", "Another.", days_ago=40)
        written(acme, "A young event.", days_ago=3)
    form = {"section": "retention", "version": "0", "event": "30"}
    text = page(admin.post("/policy/set/", form))
    assert "Save and forget 2 memories" in text
    confirmed = read_confirmation(text)
    assert settings_of(acme).forget_after == {}
    with acting(acme):
        pin(makers.decision(old[0]))
    shorter = form | confirmed | {"event": "20"}
    assert "Save and forget 1 memory" in page(admin.post("/policy/set/", shorter))
    assert settings_of(acme).forget_after == {}
    with acting(acme):
        written(acme, "A third old event.", days_ago=40)
    assert admin.post("/policy/set/", form | confirmed).status_code == 302, "it asks once"
    assert settings_of(acme).forget_after == {"event": 30}
    assert 'data-label="Expiring within the hour"><a' in html(admin.get("/policy/"))


def test_retention_forgets_only_expired_entries(acme: Account, rival: Account) -> None:
    with acting(rival):
        others = written(rival, "Theirs.", days_ago=400)[0]
    with acting(acme):
        old, pinned = written(acme, "An old event.", "A pinned one.", days_ago=40)
        pin(makers.decision(pinned))
        fact = written(acme, "An old fact.", days_ago=40, kind="fact")[0]
        update_policy(acme.pk, {"forget_after": {"event": 30}}, actor=SYSTEM)
    assert forget_expired_memories() == 1
    assert forget_expired_memories() == 0
    with acting(acme):
        version = MemoryVersion.objects.of(acme).get(entry=old, version=2)
        assert (version.event, version.actor) == ("FORGET", "system")
        assert "30 days" in version.reason
        saved = MemoryEntry.objects.of(acme).filter(status="active")
        assert {entry.pk for entry in saved} == {pinned.pk, fact.pk}
        undo(makers.decision(old))
    assert forget_expired_memories() == 0, "taken back, it has as long again"
    assert makers.get(MemoryEntry, rival, pk=others.pk).status == "active"


def test_expired_entry_can_be_restored_alone(acme: Account) -> None:
    with acting(acme):
        one, other = written(acme, "An old event.", "Another.", days_ago=40)
        update_policy(acme.pk, {"forget_after": {"event": 30}}, actor=SYSTEM)
    assert forget_expired_memories() == 2
    with acting(acme):
        rows = MemoryVersion.objects.of(acme).filter(version=2)
        assert rows.values("commit").distinct().count() == 1
        exported = undo(makers.decision(one))
        assert [entry.pk for entry in exported] == [one.pk]
        assert MemoryEntry.objects.get(pk=other.pk).status == "forgotten"


def test_setting_is_on_the_policy_page(acme: Account, ada: User, alice: User) -> None:
    admin, page, save = (
        makers.signed_in(ada),
        reverse("memory:policy"),
        reverse("memory:policy_set"),
    )
    assert "Verify before agents read" in admin.get(page).content.decode()
    form = {"section": "verification", "version": 0, "verify_on_read": "on"}
    assert makers.signed_in(alice).post(save, form).status_code == 403
    assert admin.post(save, form).status_code == 302
    assert makers.get(Account, acme, pk=acme.pk).verify_on_read
    assert "Verification on read" in admin.get(page).content.decode()
