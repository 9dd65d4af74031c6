"""A search over any protocol returns the ranking of /v1/memory/search."""

from contextlib import ExitStack

from pytest_django import Settings

from interop.benchmarks.protocols import connect
from interop.benchmarks.temporary_product import Product
from interop.management.commands.interop_perf import read_pairs
from interop.mcp.http_application import application
from kmapp.accounts.models import ApiKey
from tests.interop.test_mcp import serve
from tests.makers import settle


def test_rankings_are_those_of_the_native_search(
    site: str, key: tuple[ApiKey, str], settings: Settings
) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    texts, questions = read_pairs()
    with ExitStack() as stack:
        mcp_url = stack.enter_context(serve(application()))
        connection = stack.enter_context(connect(Product(site, mcp_url, key[1]), "ann"))
        connection.store(texts[::8])
        settle()
        assert connection.send("GET", "/v1/health")["pending_embeddings"] == 0
        for question in questions[::16]:
            for protocol, (own, native) in connection.comparisons().items():
                results = own(question)
                assert results, protocol
                assert results == native(question), protocol
