"""Recent and saved searches of a person: preferences, which the ledger does not record."""

from collections.abc import Collection
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.erasure_registry import PersonalDataHandlers, register_personal_data
from kmapp.accounts.models import User
from kmapp.errors import Invalid
from kmapp.ledger.actions import Recording
from kmapp.text.whole_words import contains_person_id
from kmapp.web.models import StoredSearch

MAX_RECENT = 8
MAX_SAVED = 50


def list_stored(account_id: UUID, user: User) -> list[StoredSearch]:
    """Return the searches, saved ones first, then the latest. Inside `acting`."""
    rows = StoredSearch.objects.of(account_id).filter(owner=user)
    return list(rows.order_by("-saved", "-used_at", "-pk")[: MAX_SAVED + MAX_RECENT])


def record_search(account_id: UUID, user: User, text: str) -> None:
    """Record a search as the latest one, and delete the oldest that are not saved."""
    rows = StoredSearch.objects.of(account_id).filter(owner=user)
    _upsert_search(account_id, user, text)
    recent = rows.filter(saved=False).order_by("-used_at", "-pk").values("pk")
    rows.filter(saved=False).exclude(pk__in=recent[:MAX_RECENT]).delete()


def set_saved(account_id: UUID, user: User, text: str, *, saved: bool) -> None:
    rows = StoredSearch.objects.of(account_id).filter(owner=user)
    if saved and rows.filter(saved=True).exclude(text=text).count() >= MAX_SAVED:
        raise Invalid(
            _("You have %(most)d saved searches. Remove one first.") % {"most": MAX_SAVED}
        )
    _upsert_search(account_id, user, text, saved=saved)


def _upsert_search(account_id: UUID, user: User, text: str, **values: bool) -> None:
    """Insert or update in one statement, so that concurrent requests do not conflict."""
    row = StoredSearch(
        account_id=account_id, owner=user, text=text, used_at=timezone.now(), **values
    )
    StoredSearch.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["account", "owner", "text"],
        update_fields=["used_at", *values],
    )


def _find_searches_naming(account_id: UUID, people: Collection[str]) -> list[UUID]:
    """Return the ids of searches that contain the id of a person as a word."""
    rows = StoredSearch.objects.of(account_id).values_list("pk", "text")
    return [pk for pk, text in rows if any(contains_person_id(text, person) for person in people)]


def _count_searches(account_id: UUID, people: Collection[str]) -> int:
    return len(_find_searches_naming(account_id, people))


def _erase_searches(account_id: UUID, people: Collection[str], commit: Recording) -> None:
    StoredSearch.objects.of(account_id).filter(
        pk__in=_find_searches_naming(account_id, people)
    ).delete()


register_personal_data(PersonalDataHandlers(count=_count_searches, erase=_erase_searches))
