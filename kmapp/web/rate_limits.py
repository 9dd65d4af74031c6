"""Rate limits of pages, with messages for people."""

from django.http import HttpRequest
from django.utils.translation import gettext as _

from kmapp.api.throttles import client_address, count_request
from kmapp.errors import OverBudget


def limit_attempts(request: HttpRequest) -> None:
    """Count an attempt to sign in. Raise OverBudget if the address of the client has too many."""
    message = _("Too many attempts. Nothing was changed. Wait a minute, then try again.")
    limit_requests("sign_in", client_address(request), message)


def limit_requests(bucket: str, client: str, message: str) -> None:
    """Count a request. Raise OverBudget with this message if the client has too many."""
    budget = count_request(bucket, client)
    if budget and budget.used > budget.limit:
        raise OverBudget(message, retry_after=budget.seconds)
