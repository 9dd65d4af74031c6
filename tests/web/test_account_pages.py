"""Pages of keys, members, operations and the ledger."""

import re
from html import unescape

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member, change_role, remove_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, Membership, User
from kmapp.errors import Conflict
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery
from kmapp.outbox.publish import NewJob, publish
from tests import makers
from tests.makers import PASSWORD
from tests.web.pages import HTMX, page


def test_new_key_is_shown_once_and_works(admin: Client) -> None:
    form = {"name": "support bot", "scopes": ["memory:read"], "expires": "30"}
    text = page(admin.post("/keys/new/", form))
    [secret] = set(re.findall(r"km_[a-z0-9]+_[\w-]{20,}", text))
    health = Client(headers={"authorization": f"Bearer {secret}"}).get("/v1/health")
    assert "pending_embeddings" in health.json()
    assert secret not in admin.get("/keys/").content.decode()


def test_debug_scope_is_for_older_keys_only(admin: Client, acme: Account) -> None:
    assert 'value="debug"' not in admin.get("/keys/new/").content.decode()
    form = {"name": "support bot", "scopes": ["memory:read", "debug"], "expires": ""}
    assert admin.post("/keys/new/", form).status_code == 422
    key, _secret = makers.key(acme, ["memory:read", "debug"])
    assert admin.post(f"/keys/{key.pk}/rotate/").status_code == 200
    with acting(acme):
        assert ApiKey.objects.exclude(pk=key.pk).get().scopes == key.scopes


def test_rotated_key_is_replaced_once_in_one_commit(admin: Client, acme: Account) -> None:
    key, old_secret = makers.key(acme)
    text = page(admin.post(f"/keys/{key.pk}/rotate/"))
    [new] = set(re.findall(r"km_[a-z0-9]+_[\w-]{20,}", text))
    ask = {"query": "tea"}
    for secret, status in ((old_secret, 401), (new, 200)):
        agent = Client(headers={"authorization": f"Bearer {secret}"})
        answer = agent.post("/v1/memory/search", ask, content_type="application/json")
        assert answer.status_code == status
    with acting(acme):
        old = ApiKey.objects.get(pk=key.pk)
        diff = Commit.objects.of(acme).get(pk=old.commit_id).diff
    assert sorted(change["op"] for change in diff) == ["ADD", "UPDATE"]
    late, _secret = makers.key(acme, expires_at=timezone.now())
    for removed in (key, late):
        assert admin.post(f"/keys/{removed.pk}/rotate/").status_code == 409
    assert makers.count(ApiKey, acme) == 3


def test_revoked_key_cannot_be_revoked_again(admin: Client, acme: Account) -> None:
    key, _secret = makers.key(acme)
    assert admin.get(f"/keys/{key.pk}/revoke/").status_code == 200
    assert admin.post(f"/keys/{key.pk}/revoke/").status_code == 302
    newest, _secret = makers.key(acme)
    listed = [each.pk for each in admin.get("/keys/").context["page"]]
    assert (listed[0], listed[-1]) == (newest.pk, key.pk), "revoked keys come last"
    assert admin.post(f"/keys/{key.pk}/revoke/").status_code == 409


def test_new_member_can_sign_in(admin: Client) -> None:
    form = {"email": "noor@example.test", "role": "reviewer", "name": "Noor", "password": PASSWORD}
    assert admin.post("/members/new/", form).status_code == 302
    assert Client().login(username="noor@example.test", password=PASSWORD)


@pytest.mark.parametrize(
    ("password", "similar_to"),
    [("hildegard quillfeather", "first name"), ("wilhelmina.zorblax", "e-mail")],
)
def test_initial_password_is_not_similar_to_the_person(
    admin: Client, password: str, similar_to: str
) -> None:
    email = "wilhelmina.zorblax@example.test"
    form = {"email": email, "role": "reviewer", "name": "Hildegard Quillfeather"}
    answer = admin.post("/members/new/", {**form, "password": password})
    assert f"The password is too similar to the {similar_to}." in page(answer, 422)
    assert not User.objects.filter(email=email).exists()


def test_rejects_invalid_new_members(admin: Client, acme: Account, rival: Account) -> None:
    rita = makers.member(rival, "rita", role="editor")
    rival_admin = makers.member(rival, "rex", role="admin")
    stray = User.objects.create_user("stray@example.test", "stray@example.test", PASSWORD)
    message = "This is a new user. Enter an initial password."
    for email in (rita.email, rival_admin.email, stray.email, "new@example.test"):
        answer = admin.post("/members/new/", {"email": email, "role": "reviewer"})
        assert answer.context["form"].errors == {"password": [message]}, email
        assert message in page(answer, 422)
    for user in (rita, stray):
        form = {"email": user.email.upper(), "role": "admin", "password": PASSWORD}
        assert admin.post("/members/new/", form).status_code == 422
        assert not makers.rows(Membership, acme, user=user)
    form = {"email": f"noor@{'n' * 60}.{'o' * 60}.{'r' * 60}.test", "role": "reviewer"}
    answer = admin.post("/members/new/", form | {"password": PASSWORD})
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["email"]


def test_admin_of_both_accounts_adds_member(
    admin: Client, ada: User, acme: Account, rival: Account
) -> None:
    rita = makers.member(rival, "rita", role="editor")
    with acting(rival):
        add_member(account_id=rival.pk, user=ada, role="admin", actor=SYSTEM)
    assert admin.post("/members/new/", {"email": rita.email, "role": "reviewer"}).status_code == 302
    assert makers.rows(Membership, acme, user=rita)


def test_user_changes_own_password_and_stays_signed_in(reviewer: Client) -> None:
    new = "a much longer phrase"
    body = {"old_password": "guessed", "new_password1": new, "new_password2": new}
    assert reviewer.post("/password/", body).status_code == 422
    assert reviewer.post("/password/", body | {"old_password": PASSWORD}).status_code == 302
    assert "/password/" in reviewer.get("/").content.decode()
    assert Client().login(username="alice", password=new)


def test_unknown_roles_and_changes_of_the_last_admin_are_refused(
    admin: Client, acme: Account, ada: User, alice: User
) -> None:
    member = makers.get(Membership, acme, user=alice)
    for form in ({}, {"role": "owner"}):
        assert admin.post(f"/members/{member.pk}/role/", form).status_code == 400
    own = makers.get(Membership, acme, user=ada)
    assert admin.post(f"/members/{own.pk}/remove/").status_code == 409
    assert admin.post(f"/members/{own.pk}/role/", {"role": "reviewer"}).status_code == 409


def test_role_that_someone_else_changed_stays(admin: Client, acme: Account, alice: User) -> None:
    member = makers.get(Membership, acme, user=alice)
    assert '<input type="hidden" name="former" value="editor">' in page(admin.get("/members/"))
    with acting(acme):
        change_role(member, role="viewer", actor=SYSTEM)
    path = f"/members/{member.pk}/role/"
    assert admin.post(path, {"role": "reviewer", "former": "editor"}).status_code == 409
    assert makers.get(Membership, acme, user=alice).role == "viewer"
    for _each in range(2):  # the second one is the same request again
        assert admin.post(path, {"role": "reviewer", "former": "viewer"}).status_code == 302
    assert makers.get(Membership, acme, user=alice).role == "reviewer"


def test_change_of_a_role_can_be_undone(admin: Client, acme: Account, alice: User) -> None:
    member = makers.get(Membership, acme, user=alice)
    path = f"/members/{member.pk}/role/"
    answer = admin.post(path, {"role": "admin", "former": "editor"}, follow=True)
    [undo] = set(re.findall(rf'action="({path}\?[^"]+)"', answer.content.decode()))
    assert makers.get(Membership, acme, user=alice).role == "admin"
    by_script = admin.post(unescape(undo), headers=HTMX)
    assert by_script.headers["HX-Redirect"] == "/members/"
    assert makers.get(Membership, acme, user=alice).role == "editor"
    assert f"{path}?" not in page(admin.get("/members/")), "an undo is not undone"
    with acting(acme):
        change_role(member, role="viewer", actor=SYSTEM)
    assert admin.post(unescape(undo)).status_code == 409


def test_deactivated_admin_is_not_another_admin(admin: Client, acme: Account, ada: User) -> None:
    other = makers.member(acme, "second", role="admin")
    own = makers.get(Membership, acme, user=ada)
    path, form = f"/members/{own.pk}/role/", {"role": "reviewer"}
    User.objects.filter(pk=other.pk).update(is_active=False)
    assert admin.post(path, form).status_code == 409
    User.objects.filter(pk=other.pk).update(is_active=True)
    answer = admin.post(path, form)
    assert answer.headers["Location"] == "/", "the list of members is for admins"


def test_admin_who_leaves_is_not_sent_to_the_members(
    admin: Client, acme: Account, ada: User
) -> None:
    makers.member(acme, "second", role="admin")
    own = makers.get(Membership, acme, user=ada)
    path = f"/members/{own.pk}/remove/"
    assert "another admin can add you again" in page(admin.get(path))
    assert admin.post(path).headers["Location"] == "/"


def test_changes_of_a_member_use_the_current_row(acme: Account, ada: User, alice: User) -> None:
    with acting(acme):
        opened = Membership.objects.get(user=alice)  # as a page read it, before the changes
        change_role(Membership.objects.get(user=alice), role="admin", actor=SYSTEM)
        change_role(Membership.objects.get(user=ada), role="editor", actor=SYSTEM)
        for refused in ("viewer", None):
            with pytest.raises(Conflict, match="at least one admin"):
                _change_or_remove(opened, refused)
        change_role(Membership.objects.get(user=ada), role="admin", actor=SYSTEM)
        remove_member(Membership.objects.get(user=alice), actor=SYSTEM)
        commits = Commit.objects.of(acme).count()
        for late in ("admin", "viewer", None):
            with pytest.raises(Conflict, match="no longer a member"):
                _change_or_remove(opened, late)
        assert Commit.objects.of(acme).count() == commits


def _change_or_remove(member: Membership, role: str | None) -> None:
    if role:
        change_role(member, role=role, actor=SYSTEM)
    else:
        remove_member(member, actor=SYSTEM)


def test_removal_of_a_member_can_be_undone(admin: Client, acme: Account, alice: User) -> None:
    member = makers.get(Membership, acme, user=alice)
    answer = admin.post(f"/members/{member.pk}/remove/", follow=True)
    [undo] = set(re.findall(r'action="(/members/restore/[^"]+)"', answer.content.decode()))
    assert not makers.rows(Membership, acme, user=alice)
    assert admin.post(undo[:-2] + "x/").status_code == 404
    assert admin.post(undo).status_code == 302
    assert makers.get(Membership, acme, user=alice).role == member.role
    assert admin.post(undo).status_code == 409
    with acting(acme):
        remove_member(makers.get(Membership, acme, user=alice), actor=SYSTEM)
    by_script = admin.post(undo, headers=HTMX)  # the list is loaded again, and shows the notice
    assert by_script.headers["HX-Redirect"] == "/members/"
    assert "is a member again" in page(admin.get("/members/"))


def test_failed_job_is_shown_and_retried(admin: Client, reviewer: Client, acme: Account) -> None:
    with acting(acme):
        publish(
            acme.pk, "memory.entry.embed", [NewJob(job_key="x:1", payload={"entry": str(acme.pk)})]
        )
        Delivery.objects.of(acme).update(failed_at="2026-01-01T00:00:00Z", last_error="it broke")
        row = Delivery.objects.of(acme).get()
    assert "it broke" in admin.get("/operations/").content.decode()
    assert "it broke" in admin.get(f"/operations/{row.pk}/").content.decode()
    assert reviewer.post("/operations/replay/", {"delivery": row.pk}).status_code == 403
    assert admin.post("/operations/replay/", {"delivery": "x"}).status_code == 404
    assert admin.post("/operations/replay/", {"delivery": row.pk}).status_code == 302
    assert makers.get(Delivery, acme).failed_at is None


def test_query_count(admin: Client, acme: Account, max_queries: MaxQueries) -> None:
    for _each in range(5):
        makers.key(acme)
    for path in ("/ledger/", "/operations/", "/keys/", "/members/"):
        cache.clear()
        with max_queries(20):
            assert admin.get(path).status_code == 200, path
