"""A faulty network to the remote kmapp of an account."""

import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from kmapp.accounts.models import Account
from kmapp.providers import breaker
from tests import makers
from tests.chaos.proxy import BREAKING, SERVICE_FAULTS, SILENT, Proxy
from tests.context.builders import call
from tests.context.test_remote_retrieval import MESSAGES, decision, use_remote

pytestmark = [pytest.mark.usefixtures("module_commits", "provider"), pytest.mark.promise(41)]
MOST = 15.0  # seconds of a call during a fault
# Deadlines of a call. With the shorter one, there is still time for a search here.
SHORT_MS, LONG_MS = 2_000, 10_000


@pytest.fixture
def link(site: str, acme: Account, rival: Account, settings: Settings) -> Iterator[Proxy]:
    """Yield the link to the remote of Acme (this kmapp, in the role of its account Rival)."""
    breaker.clear_breakers()
    with Proxy(int(site.rpartition(":")[2])).serving() as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        settings.REMOTE_BASE_URLS = [url]
        use_remote(acme, url, makers.key(rival)[1])
        yield proxy
    breaker.clear_breakers()


@pytest.mark.parametrize("fault", SERVICE_FAULTS)
def test_calls_use_local_memories_during_the_fault(
    link: Proxy, acme: Account, rival: Account, fault: str
) -> None:
    makers.write(acme, "Our kiln fires at 900.")
    makers.write(rival, "Their kiln fires at 1280.")

    def assemble(deadline: int) -> tuple[str | None, list[bool]]:
        """Return the code of a fallback, and of each citation whether it is remote."""
        policy = {"retrieval_ms": deadline}
        report = call(acme, MESSAGES, sources=("memory",), policy=policy).report
        cited = ["remote" in cited for cited in report["citations"]]
        return (decision(report, "km_fallback_local") or {}).get("code"), cited

    link.become(SERVICE_FAULTS[fault])
    began = time.monotonic()
    outcome = assemble(SHORT_MS if fault in SILENT else LONG_MS)
    assert time.monotonic() - began < MOST
    if fault in BREAKING:
        code = "km_timeout" if fault in SILENT else "km_provider_error"
        assert outcome == (code, [False])
    else:
        assert outcome == (None, [True])
    link.recover()
    assert assemble(LONG_MS) == (None, [True])
