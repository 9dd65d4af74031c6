"""What a page does once its deed is committed."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpResponse
from django.http.response import HttpResponseBase


@dataclass(frozen=True, slots=True)
class Afterwards:
    """A deed is done; the next, or the page that tells of it, has a transaction of its own.

    Until a deed is committed it holds the chain's lock, and everybody else who writes waits.
    `apart`: long work, which opens transactions as it needs them.
    """

    then: Callable[[], "HttpResponseBase | Afterwards"]
    apart: bool = False


class Carrier(HttpResponse):
    """Brings what comes afterwards through code that knows only of responses: the stock admin."""

    def __init__(self, afterwards: Afterwards) -> None:
        super().__init__()
        self.afterwards = afterwards
