"""House rules that hold for every endpoint of the product."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from interop.protocol_view import ProtocolView
from kmapp.accounts.models import User
from kmapp.accounts.scopes import Scope
from kmapp.api.errors import is_api
from kmapp.api.views import AgentView
from kmapp.database.ids import uuid7
from tests.routes import ALL_ROUTES

OPEN = {"health", "v1/health", "v1/version", "v1/schema", "v1/docs", "ok", "version"}
CHANGES = (":write", ":erase", "admin")
RECORDED = {"v1/memory/tools/select"}  # reads, and records its decision


# Endpoints that translate another protocol: tests/interop checks that each requires a key.
ROUTES = [
    (each.path, each.pattern)
    for each in ALL_ROUTES
    if not issubclass(each.view_class, ProtocolView)
]
VIEWS: dict[str, type[AgentView]] = {
    each.path: each.view_class for each in ALL_ROUTES if issubclass(each.view_class, AgentView)
}


def test_every_api_route_requires_a_key_except_public_ones() -> None:
    for path in (path for path, _ in ROUTES if is_api("/" + path)):
        assert (path in VIEWS) != (path in OPEN), path
        assert not path.endswith("/"), path


def test_every_method_declares_its_scope() -> None:
    for path, view in VIEWS.items():
        methods = {name.upper() for name in view.http_method_names if hasattr(view, name)}
        assert methods == set(view.scopes), path
        assert set(view.scopes.values()) <= set(Scope), path
        assert view.bucket in ("write", "recall", "debug"), path


@pytest.mark.promise(35)
def test_api_ignores_page_sessions(client: Client, ada: User) -> None:
    """See ASVS 3.5.1."""
    client.force_login(ada)
    for path, view in VIEWS.items():
        for method in view.scopes:
            answer = client.generic(method, "/" + re.sub(r"<.*?>", str(uuid7()), path))
            assert answer.status_code == 401, (method, path)


def test_every_writing_post_is_idempotent() -> None:
    for path, view in VIEWS.items():
        scope = view.scopes.get("POST")
        writes = scope is not None and scope.value.endswith(CHANGES)
        assert view.idempotent == (writes or path in RECORDED), path


def test_schema_describes_every_endpoint(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = client.get("/v1/schema").json()["paths"]
    described = {re.sub(r"{.*?}", "<>", path).strip("/") for path in paths}
    native = {path for path, view in VIEWS.items() if not view.__module__.startswith("interop.")}
    assert described == {re.sub(r"<.*?>", "<>", path) for path in native if path != "metrics"}
    operations = [each for path in paths.values() for each in path.values()]
    names = [each["operationId"] for each in operations]
    assert len(names) == len(set(names))
    assert all("default" in each["responses"] for each in operations)
    assert capsys.readouterr().err == ""


PAGING = {"cursor", "before", "after", "offset"}


def list_paged(schema: dict[str, Any]) -> Iterator[tuple[str, str, str, int]]:
    """Yield method, path, parameter and largest limit of each list with pages."""
    components = schema["components"]["schemas"]
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            fields = {each["name"]: each["schema"] for each in operation.get("parameters", ())}
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            if name := body.get("schema", {}).get("$ref", "").rpartition("/")[2]:
                fields |= components[name].get("properties", {})
            for parameter in PAGING & fields.keys():
                limit = fields["limit"].get("anyOf", [fields["limit"]])[0]  # without null
                yield method.upper(), path, parameter, limit["maximum"]


def test_documentation_lists_every_paged_list(client: Client) -> None:
    text = (settings.BASE_DIR / "docs" / "interop.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| `(\w+) (\S+)` \| [^|]+ \| `(\w+)`[^|]* \| .* \| (\d+) \|$", re.MULTILINE)
    documented = {
        (method, path, name, int(limit)) for method, path, name, limit in row.findall(text)
    }
    assert documented == set(list_paged(client.get("/v1/schema").json()))
