"""Switch to another account of the person."""

from django.http import Http404, HttpResponse
from django.shortcuts import redirect

from kmapp.accounts.permissions import Permission
from kmapp.web.http import WebRequest, safe_next_url
from kmapp.web.page_access import SELECTED_ACCOUNT, page_view


@page_view("POST", needs=Permission.READ, without_factor=True)
def switch_account(request: WebRequest) -> HttpResponse:
    account_id = request.POST.get("account", "")
    if account_id not in {str(access.account_id) for access in request.accesses}:
        raise Http404
    request.session[SELECTED_ACCOUNT] = account_id
    # Go home by default: the current page may not exist in the other account.
    return redirect(safe_next_url(request, "web:home"))
