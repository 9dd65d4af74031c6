"""Real servers for the whole run, a cloned database for each worker, accounts and users.

The template database is migrated once by its owner. Tests run as the app role inside a transaction.
A test that commits uses `committed`, a clone of its own: the ledger refuses DELETE and TRUNCATE.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from time import monotonic
from uuid import uuid4

import hypothesis
import pytest
from django.conf import settings
from django.test import Client
from pytest_django import DjangoAssertNumQueries, DjangoDbBlocker, Settings
from pytest_django.plugin import blocking_manager_key

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey, User
from kmapp.outbox.models import Delivery
from kmapp.providers import breaker
from kmapp.providers.active_models import clear_model_cache
from kmapp.runtime import embedded
from kmapp.runtime.embedded.embedded_server import make_runtime_dir
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.embedded.postgres_memory import SHARED_MEMORY
from kmapp.runtime.embedded.valkey import Valkey
from kmapp.search import scan_method_choice
from kmapp.text import token_counter
from tests import makers, process_caches
from tests.data_folder import DISK, create_data_folder, delete_leftovers
from tests.databases import (
    CONNECTIONS,
    clone,
    drop,
    make_template,
    temporary_database,
    use_database,
)
from tests.embedder import CachingEmbeddingServer
from tests.fake_provider import FakeProvider
from tests.kernel.fsck.tampering import Intruder, intrude
from tests.memory.chat_model import configure_chat
from tests.web.browser import served

pytest_plugins = ["pytester", "tests.promises.plugin", "tests.schedule", "tests.durations"]
# The time of an example depends on the load of the machine; tests.timing compares ratios.
hypothesis.settings.register_profile("kmapp", deadline=None)
hypothesis.settings.load_profile("kmapp")
process_caches.install()
_parts = pytest.StashKey[ExitStack]()


def pytest_configure(config: pytest.Config) -> None:
    """Start the servers in the process that starts the workers, before the workers start."""
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    config.stash[_parts] = stack = ExitStack()
    data = settings.DATA_DIR
    delete_leftovers(SHARED_MEMORY, DISK)
    stack.callback(os.close, create_data_folder(data))
    data.chmod(0o711)  # Postgres may run as another user
    stack.callback(shutil.rmtree, data)
    make_runtime_dir(embedded.get_runtime_dir(data))
    stack.callback(shutil.rmtree, embedded.get_runtime_dir(data), ignore_errors=True)
    for part in (
        Postgres(
            data / "postgres",
            embedded.get_postgres_sockets(data),
            data / "postgres.log",
            durable=False,
            # The segments are for base backups and standbys of tests.
            extra_settings={"wal_keep_size": "1GB", **CONNECTIONS},
        ),
        Valkey(data / "valkey", embedded.get_valkey_socket(data), data / "valkey.log"),
        CachingEmbeddingServer(settings.EMBEDDER_QUERY_PORT, data / "embedder.log"),
    ):
        stack.enter_context(part)
    with config.stash[blocking_manager_key].unblock():
        make_template()


def pytest_unconfigure(config: pytest.Config) -> None:
    if stack := config.stash.get(_parts, None):
        stack.close()


@pytest.fixture(autouse=True)
def own_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a checkpoint file of its own, because databases differ."""
    folder = settings.DATA_DIR / "checkpoints" / uuid4().hex
    monkeypatch.setattr(settings, "CHECKPOINT_FILE", folder / "checkpoints.ndjson")


@pytest.fixture(scope="session")
def worker_database() -> str:
    return "test_" + os.environ.get("PYTEST_XDIST_WORKER", "alone")


@pytest.fixture(scope="session")
def django_db_setup(worker_database: str, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Use a clone of this worker's own."""
    clone(worker_database)
    with django_db_blocker.unblock():
        use_database(worker_database)
        yield
        drop(worker_database)


@pytest.fixture(scope="session")
def tokenizer() -> None:
    """Load the tables of the tokenizer, which takes seconds, before a transaction is open."""
    token_counter.count_tokens("tea")


@pytest.fixture
def frozen_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear caches with expiry and stop their clock, so that query counts do not depend on time."""
    clear_model_cache()
    scan_method_choice.clear_query_caches()
    now = monotonic()
    monkeypatch.setattr("kmapp.runtime.in_process_caches.monotonic", lambda: now)


@pytest.fixture
def django_assert_max_num_queries(
    frozen_caches: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> DjangoAssertNumQueries:
    return django_assert_max_num_queries


@pytest.fixture
def max_queries(django_assert_max_num_queries: DjangoAssertNumQueries) -> DjangoAssertNumQueries:
    return django_assert_max_num_queries


@pytest.fixture
def committed(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    worker_database: str,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[str]:
    """Use a database of this test's own, with real commits; yield its name."""
    if "module_commits" in request.fixturenames:
        yield str(settings.DATABASES["default"]["NAME"])
        return
    with temporary_database(f"{worker_database}_own") as name, django_db_blocker.unblock():
        yield name


@pytest.fixture(scope="module")
def module_database(
    django_db_setup: None, worker_database: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Use a database for rows that fixtures of module scope commit; tests roll back their own."""
    with temporary_database(f"{worker_database}_module"):
        yield


@pytest.fixture(scope="module")
def module_commits(module_database: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Share one clone among tests that commit; each has accounts of its own."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def acme(request: pytest.FixtureRequest) -> Account:
    return _create_account(request, "Acme")


@pytest.fixture
def rival(request: pytest.FixtureRequest) -> Account:
    return _create_account(request, "Rival")


def _create_account(request: pytest.FixtureRequest, name: str) -> Account:
    if "module_commits" in request.fixturenames:  # other tests have created accounts
        return makers.account(name, slug=f"{name.lower()}-{uuid4().hex[:8]}")
    # pytest may set up this fixture before the database, so it requests the database itself.
    request.getfixturevalue("committed" if "committed" in request.fixturenames else "db")
    return makers.account(name)


@pytest.fixture
def shared_database(module_commits: None, acme: Account) -> Iterator[None]:
    """Commit to the database of this module, and leave no jobs that other tests would run."""
    yield
    with acting(acme):
        Delivery.objects.of(acme).delete()


@pytest.fixture
def intruder(committed: str) -> Iterator[Intruder]:
    with intrude(committed) as intruder:
        yield intruder


@pytest.fixture
def alice(acme: Account) -> User:
    return _create_member(acme, "alice", role="editor")


@pytest.fixture
def ada(acme: Account) -> User:
    return _create_member(acme, "ada", role="admin")


def _create_member(acme: Account, name: str, *, role: str) -> User:
    """Create a member; the login ends with the suffix of the account's slug, if it has one."""
    return makers.member(acme, name, role=role, login=f"{name}{acme.slug.removeprefix('acme')}")


@pytest.fixture
def reviewer(alice: User) -> Client:
    return makers.signed_in(alice)


@pytest.fixture
def admin(ada: User) -> Client:
    return makers.signed_in(ada)


@pytest.fixture
def key(acme: Account) -> tuple[ApiKey, str]:
    """Return a key of Acme with every scope, and its secret."""
    return makers.key(acme)


@pytest.fixture
def agent(key: tuple[ApiKey, str]) -> Client:
    return Client(headers={"Authorization": f"Bearer {key[1]}"})


@pytest.fixture
def site(committed: str) -> Iterator[str]:
    """Yield the address of a server with a database of its own."""
    with served() as base:
        yield base


@pytest.fixture
def reranker(settings: Settings) -> Iterator[FakeProvider]:
    """Serve a reranker that gets the first results of searches."""
    breaker.clear_breakers()
    with FakeProvider().serving() as fake:
        settings.RERANK_BASE_URL = fake.url
        settings.RERANK_MODEL = "reader"
        settings.RERANK_DEADLINE = 20.0  # enough on a busy machine
        yield fake
    breaker.clear_breakers()


@pytest.fixture
def provider(settings: Settings) -> Iterator[FakeProvider]:
    """Serve an embedder of queries and passages; its circuit is closed."""
    breaker.clear_breakers()
    with FakeProvider().serving() as fake:
        settings.EMBEDDING_BASE_URL = settings.EMBEDDING_BATCH_BASE_URL = fake.url
        yield fake
    breaker.clear_breakers()


@pytest.fixture
def chat(settings: Settings, provider: FakeProvider) -> FakeProvider:
    """Return the provider, configured as the chat model."""
    configure_chat(settings, provider)
    return provider
