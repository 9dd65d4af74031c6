"""House rules that no other check covers. Those of API routes: kernel/test_api_routes.py."""

import ast
import re
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management import get_commands
from django.db.migrations import AddField, AddIndex, CreateModel
from django.db.migrations.loader import MigrationLoader

from kmapp.__main__ import SECTIONS
from kmapp.api.errors import is_api
from tests.routes import ALL_ROUTES

OURS = ("kmapp", "memory", "knowledge", "rules", "context")
MODELS = [model for model in apps.get_models() if model.__module__.partition(".")[0] in OURS]
SOURCES = sorted(
    path.relative_to(settings.BASE_DIR)
    for package in (*OURS, "tests")
    for path in (settings.BASE_DIR / package).rglob("*.py")
    if "migrations" not in path.parts
)
PRODUCT = [path for path in SOURCES if path.parts[0] != "tests"]
PAGE_FILES = sorted(
    path.relative_to(settings.BASE_DIR)
    for pattern in ("templates/**/*.html", "static/css/**/*.css", "static/js/**/*.js")
    for path in settings.BASE_DIR.glob(pattern)
)
MAX_LINES = 300
VAGUE_NAMES = {"utils.py", "helpers.py", "services.py", "managers.py", "common"}
SIGN_IN = {":account_login", ":account_signup", ":mfa_authenticate", ":mfa_login_webauthn"}
SIGN_IN |= {":company_start", ":company_finish"}
# Pages that anybody may open, signed in or not.
PUBLIC = {"web:sign_in", "web:sign_out", "web:preferences", *SIGN_IN}
PUBLIC |= {"web:invitation", "web:status", "web:unsubscribe"} | {
    f":account_reset_password{step}" for step in ("", "_done", "_from_key", "_from_key_done")
}
# The stock admin has permissions of its own.
PAGES = [
    each
    for each in ALL_ROUTES
    if not each.name.startswith("admin:") and not is_api("/" + each.path)
]
READ = re.compile(r'env\.(?:text|flag|integer|seconds|interval|words|path)\(\s*"([A-Z_]+)"')


def test_every_environment_variable_is_documented() -> None:
    pages = [settings.BASE_DIR / page for page in ("README.md", "docs/operations.md")]
    documentation = "".join(page.read_text() for page in pages)
    read = {
        name for path in PRODUCT for name in READ.findall((settings.BASE_DIR / path).read_text())
    }
    assert "KMAPP_DATA_DIR" in read
    assert {name for name in read if f"`{name}`" not in documentation} == set()


def test_every_page_is_a_function_with_a_permission_and_a_trailing_slash() -> None:
    for page in PAGES:
        assert hasattr(page.pattern.callback, "access") != (page.name in PUBLIC), page.name
        assert page.view_class is object, page.name
        # Uptime checks request /status and do not follow redirects.
        is_uptime = page.name == "web:status"
        assert not page.path or page.path.endswith("/") or is_uptime, page.name


def test_files_are_short_and_have_descriptive_names() -> None:
    files = [*SOURCES, *PAGE_FILES]
    lengths = {path: len((settings.BASE_DIR / path).read_text().splitlines()) for path in files}
    assert {path for path, lines in lengths.items() if lines > MAX_LINES} == set()
    assert [path for path in SOURCES if VAGUE_NAMES & set(path.parts)] == []


def test_overview_lists_every_command_for_people() -> None:
    packages = {*OURS, "interop"}
    own = {name for name, app in get_commands().items() if app.partition(".")[0] in packages}
    listed = {name for names in SECTIONS.values() for name in names}
    assert listed == own - {"prepare"}  # which `up` runs


def test_pages_name_commands_by_the_setting() -> None:
    """An installed wheel has no manage.py; its command is in `settings.COMMAND`."""
    templates = (settings.BASE_DIR / "templates").rglob("*.html")
    assert [path for path in templates if "manage.py" in path.read_text(encoding="utf-8")] == []


SIGNALS = {"receiver", "Signal", "post_save", "pre_save", "GenericForeignKey"}


def test_no_signals_save_overrides_or_dynamic_models() -> None:
    """The product has no signals, overridden save(), generic foreign keys or get_model().

    import-linter does not see what get_model() imports.
    """
    results = {str(path): _hidden_effects(path) for path in PRODUCT}
    assert {path: effects for path, effects in results.items() if effects} == {}


def _hidden_effects(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse((settings.BASE_DIR / path).read_text())))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {alias.name for node in imports for alias in node.names}
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    methods = {each.name for node in classes for each in node.body if hasattr(each, "name")}
    called = {getattr(node.func, "attr", "") for node in nodes if isinstance(node, ast.Call)}
    return (imported & SIGNALS) | (methods & {"save"}) | (called & {"get_model"})


# --- Migrations -----------------------------------------------------------------------------------


def test_migrations_are_named_and_linear() -> None:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    own_apps = {apps.get_containing_app_config(model.__module__).label for model in MODELS}  # type: ignore[union-attr]
    assert loader.detect_conflicts() == {}
    for app, name in loader.disk_migrations:
        if app in own_apps:
            assert re.fullmatch(r"\d{4}_[a-z_]+", name)
            assert "auto" not in name.split("_")


def test_later_migrations_lock_no_table_and_keep_the_previous_release_working() -> None:
    """Indexes are built concurrently, and new columns are nullable or have a database default.

    Processes of the previous release still write to the tables.
    """
    problems = []
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if not migration.__module__.startswith(OURS) or migration.initial:
            continue
        if not migration.atomic and any(
            isinstance(each, AddField) for each in migration.operations
        ):
            problems.append(f"{app}.{name}: columns are added without a limit on waiting for locks")
        new = {each.name_lower for each in migration.operations if isinstance(each, CreateModel)}
        for each in migration.operations:
            if not isinstance(each, AddField | AddIndex) or each.model_name_lower in new:
                continue
            if isinstance(each, AddField):
                allowed = each.field.null or each.field.has_db_default()
            else:
                allowed = isinstance(each, AddIndexConcurrently)
            if not allowed:
                problems.append(f"{app}.{name}: {each.describe()}")
    assert problems == []


# --- Docs -----------------------------------------------------------------------------------------

DOCS = sorted(
    path.relative_to(settings.BASE_DIR)
    for path in (settings.BASE_DIR / "README.md", *(settings.BASE_DIR / "docs").rglob("*.md"))
)
NAMED = re.compile(rf"`((?:{'|'.join(OURS)}|tests|static|templates)/[\w./-]*\w\.\w+)`")
LINKED = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def test_documentation_links_exist() -> None:
    assert [missing for page in DOCS for missing in _missing_links(page)] == []


def _missing_links(page: Path) -> list[str]:
    text = (settings.BASE_DIR / page).read_text(encoding="utf-8")
    named = {name: settings.BASE_DIR / name for name in NAMED.findall(text)}
    linked = {name: settings.BASE_DIR / page.parent / name for name in LINKED.findall(text)}
    return [f"{page}: {name}" for name, path in (named | linked).items() if not path.exists()]
