"""Settings from environment variables."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.fresh_settings import load_settings


@pytest.mark.parametrize(
    ("name", "value", "explanation"),
    [
        ("OUTBOX_MAX_ATTEMPTS", "0", "at least 1"),  # every job would fail
        ("THROTTLE_WRITE_PER_MINUTE", "-1", "at least 0"),
        ("STATEMENT_TIMEOUT", "5 seconds", "a duration such as 5s"),
        ("PORT", "http", "a whole number"),
        ("CHAT_DEADLINE", "0", "a positive number of seconds"),
        ("DEBUG", "yes", "True or False"),
    ],
)
def test_invalid_value_is_explained(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, explanation: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=f"{name}.*{explanation}"):
        load_settings()


def test_empty_value_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the server would listen on every address, and write into the current folder."""
    names = ("HOST", "PORT", "ALLOWED_HOSTS", "BACKUPS_DIR", "CHECKPOINT_FILE", "STATEMENT_TIMEOUT")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    defaults = load_settings()
    for name in names:
        monkeypatch.setenv(name, "")
    empty = load_settings()
    assert {name: empty[name] for name in names} == {name: defaults[name] for name in names}
