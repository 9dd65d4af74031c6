"""The search of memories for links in documents."""

import pytest
from django.test import Client

from kmapp.accounts.models import Account
from tests import makers
from tests.web.pages import HTMX, page

pytestmark = pytest.mark.django_db
PATH = "/knowledge/memory-links/"


def test_memories_are_found_with_their_links(acme: Account, rival: Account, admin: Client) -> None:
    [memory] = makers.write(acme, "The kettle <b>hums</b>.", user_id="ann")
    makers.write(rival, "Their kettle whistles.", user_id="ann")
    link = f"[[memory:{memory.pk}]]"
    displayed = page(admin.get(PATH, {"q": "kettle"}))  # without scripts: a page to copy from
    assert link in displayed
    assert "whistles" not in displayed
    assert "<b>hums" not in displayed
    assert "Insert link" not in displayed
    part = page(admin.get(PATH, {"q": "kettle"}, headers=HTMX))
    assert f'data-insert="{link}"' in part
    assert "<html" not in part
    assert "No memory matches" in page(admin.get(PATH, {"q": "teapot"}))
    for other in ("page", "member"):
        assert link in page(admin.get(PATH, {"q": f"type:{other} kettle"}))
        assert "[[memory:" not in page(admin.get(PATH, {"q": f"type:{other} review"}))
    assert "There is no filter" in page(admin.get(PATH, {"q": "colour:red kettle"}))
    assert 'form="memory-search"' in page(admin.get("/knowledge/write/"))
