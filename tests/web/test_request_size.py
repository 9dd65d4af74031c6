"""Limits on the size of requests."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kmapp.accounts.models import Account
from tests import makers

LIMIT = 2_000
pytestmark = [pytest.mark.django_db, pytest.mark.promise(33)]


@pytest.fixture(autouse=True)
def small(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = LIMIT


def test_anonymous_user_cannot_upload(client: Client, settings: Any) -> None:
    settings.FILE_UPLOAD_HANDLERS = ["tests.web.test_request_size.Never"]
    for path in ("/sign-in/", "/knowledge/upload/", "/nowhere/"):
        form = {"username": "a", "file": SimpleUploadedFile("a.txt", b"a" * LIMIT)}
        answer = client.post(path, form)
        assert answer.status_code == 413
        assert "You are signed out, and nothing was saved." in answer.text


class Never:
    """An upload handler that must not be used."""

    def __init__(self, request: Any) -> None:
        raise AssertionError("a body was read")


def test_member_uploads_up_to_the_limit(client: Client, acme: Account, settings: Any) -> None:
    client.force_login(makers.member(acme, "ada", role="admin"))
    settings.UPLOAD_MAX_BYTES = 2 * LIMIT

    def status(size: int) -> int:
        file = SimpleUploadedFile("a.md", b"a" * size)
        return client.post("/knowledge/upload/", {"source": "Files", "uploads": file}).status_code

    assert status(LIMIT) != 413
    assert status(2 * LIMIT) == 413


def test_form_without_files_is_accepted(client: Client) -> None:
    assert client.post("/sign-in/", {"username": "a", "password": "b" * 100}).status_code != 413
