"""The tour of the home page: four steps for a person who is new, until they hide it."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kmapp.web.navigation import find_url


@dataclass(frozen=True, slots=True, kw_only=True)
class TourStep:
    url_name: str
    icon: str
    title: str | Promise
    text: str | Promise

    @property
    def url(self) -> str | None:
        return find_url(self.url_name)


TOUR = (
    TourStep(
        url_name="memory:review",
        icon="inbox",
        title=_("Review a proposal"),
        text=_("Agents propose what everyone should know. Approve, correct or reject it."),
    ),
    TourStep(
        url_name="web:search",
        icon="search",
        title=_("Search everything"),
        text=_("Find memories, documents, people and pages. Ctrl K works everywhere."),
    ),
    TourStep(
        url_name="memory:lab",
        icon="flask-conical",
        title=_("See why a memory is recalled"),
        text=_("Run a query as an agent, and see how each score is computed."),
    ),
    TourStep(
        url_name="interop:connect",
        icon="plug",
        title=_("Connect an agent"),
        text=_("Copy a command or a client configuration for your first agent."),
    ),
)
