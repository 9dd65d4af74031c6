"""The page that connects an agent: choose a client, copy a snippet, see the first call arrive."""

from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from interop.setup_snippets import CLIENTS, Addresses, ConnectableClient, SetupSnippet, find_client
from kmapp.accounts.actions import IssuedKey, issue_key
from kmapp.accounts.models import ApiKey
from kmapp.accounts.permissions import Permission
from kmapp.accounts.scopes import Scope
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, get_row_or_404
from kmapp.web.key_snippet_registry import offers_key_snippets
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_polled

TEMPLATE = "interop/connect.html"
PLACEHOLDER = "km_…"
# What an agent needs; erasing, trusted sources, overrides and administration are granted by hand.
AGENT_SCOPES = (
    *(Scope.MEMORY_READ, Scope.MEMORY_WRITE, Scope.KNOWLEDGE_READ),
    *(Scope.RULES_READ, Scope.RULES_WRITE, Scope.CONTEXT_READ, Scope.CONTEXT_WRITE),
)


@never_cache
@page_view("GET", "POST", needs=Permission.KEYS, get=Permission.READ)
def connect(request: WebRequest) -> HttpResponse | AfterCommit:
    """Show the snippets of a client; a POST creates a key and shows them with it, once."""
    client = find_client(request.GET.get("client", ""))
    if request.method != "POST":
        return _render(request, client)
    issued = issue_key(
        account_id=request.account_id,
        name=_("%(client)s agent") % {"client": client.label},
        scopes=[scope.value for scope in AGENT_SCOPES],
        expires_at=None,
        actor=request.actor,
    )
    return AfterCommit(lambda: _render(request, client, issued))


@page_view("GET", needs=Permission.KEYS)
def first_call(request: WebRequest, pk: UUID) -> HttpResponse:
    """Report whether the key was used; the page asks every two seconds."""
    key = get_row_or_404(request, ApiKey, pk)
    return render_polled(request, f"{TEMPLATE}#status", {"key": key})


def _render(
    request: WebRequest, client: ConnectableClient, issued: IssuedKey | None = None
) -> HttpResponse:
    addresses = addresses_of(request)
    secret = issued.secret if issued else PLACEHOLDER
    context = {
        "clients": CLIENTS,
        "client": client,
        "snippets": client.snippets(addresses, secret),
        "key": issued.key if issued else None,
        "may_create_keys": Permission.KEYS in request.permissions,
        "is_mcp_off": client.name == "mcp" and not addresses.mcp,
    }
    return render(request, TEMPLATE, context)


@offers_key_snippets
def list_mcp_snippets(request: HttpRequest, secret: str) -> list[SetupSnippet]:
    return find_client("mcp").snippets(addresses_of(request), secret)


def addresses_of(request: HttpRequest) -> Addresses:
    """Return the URLs under which this browser reaches the API and the MCP server."""
    api = request.build_absolute_uri("/").rstrip("/")
    if not settings.MCP_PORT:
        return Addresses(api=api, mcp="")
    if settings.MCP_URL:
        return Addresses(api=api, mcp=settings.MCP_URL)
    host, _port = split_domain_port(request.get_host())
    return Addresses(api=api, mcp=f"{request.scheme}://{host}:{settings.MCP_PORT}/mcp")
