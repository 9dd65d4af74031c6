"""Registry of what can be found, and the search over all of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from uuid import UUID

from django.utils.functional import Promise
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.text.highlight import Piece
from kmapp.web.badge_counts import format_count
from kmapp.web.http import WebRequest
from kmapp.web.site_search.query import TYPE, SiteQuery

CAP = 100  # hits that are counted; the count of more is shown as 99+


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteMatch:
    """A result: texts in pieces, of which the matches are highlighted."""

    url: str
    title: Sequence[Piece]
    passage: Sequence[Piece] = ()
    badge: str = ""  # a name in `BADGES`
    meta: str | Promise = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The first hits of a provider, and the number of all, up to `CAP`."""

    hits: Sequence[SiteMatch] = ()
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSearch:
    """The arguments of a provider's search. Inside `acting`."""

    request: WebRequest
    query: SiteQuery
    limit: int
    completions: dict[str, list[str]] = field(default_factory=dict)  # by collection

    @property
    def account_id(self) -> UUID:
        return self.request.account_id


Find = Callable[[SiteSearch], Matches]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProvider:
    """A kind of object. `filters` maps each name to its values; None accepts any text."""

    name: str
    label: str | Promise
    icon: str
    position: int
    find: Find
    needs: Permission = Permission.READ
    filters: Mapping[str, Sequence[str] | None] = field(default_factory=dict)

    def accepts(self, query: SiteQuery) -> bool:
        return all(
            value == self.name
            if name == TYPE
            else name in self.filters and _is_valid(value, self.filters[name])
            for name, value in query.filters.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The results of one provider."""

    provider: SearchProvider
    matches: Matches

    @property
    def count(self) -> str:
        return format_count(self.matches.number)

    @property
    def has_more(self) -> bool:
        return self.matches.number > len(self.matches.hits)


_registered: dict[str, SearchProvider] = {}


def register(provider: SearchProvider) -> None:
    _registered[provider.name] = provider


@cache
def _all_providers() -> Sequence[SearchProvider]:
    autodiscover_modules("views.site_search")
    return sorted(_registered.values(), key=lambda each: each.position)


def visible_providers(request: WebRequest) -> list[SearchProvider]:
    return [each for each in _all_providers() if each.needs in request.permissions]


def search_everything(request: WebRequest, query: SiteQuery, *, limit: int) -> list[Group]:
    """Return the groups with results. Inside `acting`."""
    providers = visible_providers(request)
    _check_filters(providers, query)
    if query.is_empty:
        return []
    search = SiteSearch(request=request, query=query, limit=limit)
    groups = [
        Group(provider=each, matches=each.find(search)) for each in providers if each.accepts(query)
    ]
    return [group for group in groups if group.matches.hits]


def list_filter_values(providers: Sequence[SearchProvider]) -> dict[str, list[str] | None]:
    """Return the names of all filters, each with its values, or None for any text."""
    values: dict[str, list[str] | None] = {TYPE: [each.name for each in providers]}
    for name, choices in _list_filters(providers):
        earlier = values.setdefault(name, [])
        if choices is None or earlier is None:
            values[name] = None
        else:
            earlier += [choice for choice in choices if choice not in earlier]
    return values


def _list_filters(
    providers: Sequence[SearchProvider],
) -> Iterator[tuple[str, Sequence[str] | None]]:
    for each in providers:
        yield from each.filters.items()


def _is_valid(value: str, choices: Sequence[str] | None) -> bool:
    return bool(value) and (choices is None or value in choices)


def _check_filters(providers: Sequence[SearchProvider], query: SiteQuery) -> None:
    valid = list_filter_values(providers)
    for name, value in query.filters.items():
        if name not in valid:
            names = ", ".join(f"{each}:" for each in valid)
            raise Invalid(
                _("There is no filter “%(name)s:”. Filters: %(names)s")
                % {"name": name, "names": names}
            )
        choices = valid[name]
        if not _is_valid(value, choices):
            raise Invalid(
                _("“%(value)s” is not a value of %(name)s:. Values: %(values)s")
                % {"value": value, "name": name, "values": ", ".join(choices or [_("any text")])}
            )
