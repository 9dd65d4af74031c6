"""Rules of the house that no other check sees. Those of API routes: kernel/test_api_routes.py."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models import ForeignKey, Model
from django.urls import URLPattern, URLResolver, get_resolver

from kmapp.accounts.models import Account
from kmapp.api.errors import is_api

OURS = ("kmapp", "memory", "knowledge", "rules", "context")
MODELS = [model for model in apps.get_models() if model.__module__.partition(".")[0] in OURS]
OWNED = [
    model for model in MODELS if any(field.name == "account" for field in model._meta.local_fields)
]
SOURCES = sorted(
    path.relative_to(settings.BASE_DIR)
    for package in (*OURS, "tests")
    for path in (settings.BASE_DIR / package).rglob("*.py")
    if "migrations" not in path.parts
)
PRODUCT = [path for path in SOURCES if path.parts[0] != "tests"]
LONGEST = 300  # lines
ONE_FILE_ON_PURPOSE = {Path("kmapp/settings.py")}
SHAPELESS = {"utils.py", "helpers.py", "services.py", "managers.py", "common"}
SIGN_IN = {":account_login", ":account_signup", ":mfa_authenticate", ":mfa_login_webauthn"}
# Pages that anybody may ask for: who is not signed in yet, or not for long.
PUBLIC = {"web:sign_in", "web:sign_out", "web:preferences", *SIGN_IN} | {
    f":account_reset_password{step}" for step in ("", "_done", "_from_key", "_from_key_done")
}


READ = re.compile(r'env\.(?:text|flag|integer|seconds|words|folder)\(\s*"([A-Z_]+)"')


def test_every_environment_variable_is_documented() -> None:
    told = "".join(
        (settings.BASE_DIR / page).read_text() for page in ("README.md", "docs/operations.md")
    )
    read = {
        name for path in PRODUCT for name in READ.findall((settings.BASE_DIR / path).read_text())
    }
    assert "KMAPP_DATA_DIR" in read
    assert {name for name in read if f"`{name}`" not in told} == set()


# --- The wall between accounts --------------------------------------------------------------------


@pytest.mark.django_db
def test_every_account_table_has_row_level_security() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid "
            "WHERE c.relrowsecurity AND c.relforcerowsecurity "
            "AND p.polroles = ARRAY[current_user::regrole::oid] AND p.polwithcheck IS NOT NULL"
        )
        walled = {name for (name,) in cursor.fetchall()}
    owned = {model._meta.db_table for model in OWNED}
    assert walled == owned | {Account._meta.db_table}


@pytest.fixture
def foreign_keys(db: None) -> dict[tuple[str, frozenset[str]], tuple[str, bool]]:
    """By table and columns: the table they point at, and whether that is checked at commit."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT f.conrelid::regclass::text, f.confrelid::regclass::text, f.condeferred, "
            "(SELECT array_agg(a.attname::text) FROM pg_attribute a "
            " WHERE a.attrelid = f.conrelid AND a.attnum = ANY (f.conkey)) "
            "FROM pg_constraint f WHERE f.contype = 'f'"
        )
        return {
            (table, frozenset(columns)): (target, deferred)
            for table, target, deferred, columns in cursor.fetchall()
        }


def test_no_foreign_key_crosses_accounts(
    foreign_keys: dict[tuple[str, frozenset[str]], tuple[str, bool]],
) -> None:
    """Row-level security does not guard foreign keys, so the account is part of each."""
    owned = {model._meta.db_table for model in OWNED}
    inside = {key: to for key, (to, _) in foreign_keys.items() if key[0] in owned and to in owned}
    assert len(inside) > 5
    assert [key for key in inside if "account_id" not in key[1]] == []


@pytest.mark.parametrize("model", OWNED, ids=lambda model: model._meta.label)
def test_references_to_account_rows_are_database_constraints(
    model: type[Model], foreign_keys: dict[tuple[str, frozenset[str]], tuple[str, bool]]
) -> None:
    for field in model._meta.local_concrete_fields:
        if isinstance(field, ForeignKey) and field.related_model in OWNED:
            key = (model._meta.db_table, frozenset({"account_id", field.column}))
            assert foreign_keys[key] == (field.related_model._meta.db_table, True)


# --- Pages ----------------------------------------------------------------------------------------


def pages(resolver: URLResolver, *, path: str = "", space: str = "") -> Iterator[tuple[str, str]]:
    """The name and the address of every page; the stock admin guards its own."""
    for each in resolver.url_patterns:
        here = path + str(each.pattern)
        if isinstance(each, URLResolver):
            if each.app_name != "admin":
                yield from pages(each, path=here, space=f"{each.namespace or space}")
        elif not is_api("/" + here):
            PAGES[f"{space}:{each.name}"] = each
            yield f"{space}:{each.name}", here


PAGES: dict[str, URLPattern] = {}
ADDRESSES = dict(pages(get_resolver()))


@pytest.mark.parametrize("name", ADDRESSES)
def test_every_page_declares_its_permission(name: str) -> None:
    assert hasattr(PAGES[name].callback, "roles") != (name in PUBLIC)


@pytest.mark.parametrize("name", ADDRESSES)
def test_every_page_has_a_last_slash_and_is_a_function(name: str) -> None:
    assert not ADDRESSES[name] or ADDRESSES[name].endswith("/")
    assert not hasattr(PAGES[name].callback, "view_class")


# --- Files ----------------------------------------------------------------------------------------


def test_files_are_at_most_300_lines() -> None:
    lengths = {path: len((settings.BASE_DIR / path).read_text().splitlines()) for path in SOURCES}
    too_long = {path for path, lines in lengths.items() if lines > LONGEST}
    assert {str(path) for path in too_long - ONE_FILE_ON_PURPOSE} == set()


def test_file_names_are_descriptive() -> None:
    assert [str(path) for path in SOURCES if SHAPELESS & set(path.parts)] == []


@pytest.mark.parametrize("path", PRODUCT, ids=str)
def test_no_signals_save_overrides_or_dynamic_models(path: Path) -> None:
    """No signals of our own, no overridden save(), no import that the layers cannot see."""
    nodes = list(ast.walk(ast.parse((settings.BASE_DIR / path).read_text())))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {alias.name for node in imports for alias in node.names}
    assert not imported & {"receiver", "Signal", "post_save", "pre_save", "GenericForeignKey"}
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    methods = {each.name for node in classes for each in node.body if hasattr(each, "name")}
    assert "save" not in methods
    called = {getattr(node.func, "attr", "") for node in nodes if isinstance(node, ast.Call)}
    assert "get_model" not in called


def test_migrations_are_named_and_linear() -> None:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    ours = {apps.get_containing_app_config(model.__module__).label for model in MODELS}  # type: ignore[union-attr]
    assert loader.detect_conflicts() == {}
    for app, name in loader.disk_migrations:
        if app in ours:
            assert re.fullmatch(r"\d{4}_[a-z_]+", name)
            assert "auto" not in name.split("_")


# --- Docs -----------------------------------------------------------------------------------------

DOCS = sorted(
    path.relative_to(settings.BASE_DIR)
    for path in (settings.BASE_DIR / "README.md", *(settings.BASE_DIR / "docs").rglob("*.md"))
)
NAMED = re.compile(rf"`((?:{'|'.join(OURS)}|tests|static|templates)/[\w./-]*\w\.\w+)`")
LINKED = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", DOCS, ids=str)
def test_documentation_links_exist(page: Path) -> None:
    text = (settings.BASE_DIR / page).read_text(encoding="utf-8")
    named = {name: settings.BASE_DIR / name for name in NAMED.findall(text)}
    linked = {name: settings.BASE_DIR / page.parent / name for name in LINKED.findall(text)}
    assert [name for name, path in (named | linked).items() if not path.exists()] == []
