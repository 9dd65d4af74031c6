"""The measurement of searches of documents with `verify_on_read`, on small data."""

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from kmapp.accounts.models import Account
from kmapp.ledger.read_verification import collect_withheld
from kmapp.management.account_lookup import get_account
from kmapp.management.verification_cost import set_verification
from knowledge.benchmarks.verify_on_read_cost import Writer
from knowledge.retrieval.search import KnowledgeSearch, search_with_vector


def test_verified_searches_of_documents_are_measured(committed: str, tmp_path: Path) -> None:
    page, out = tmp_path / "b.md", io.StringIO()
    words = ("verify", "--here", "--documents=4", "--number=1", f"--out={page}")
    call_command("knowledge_perf", *words, stdout=out, stderr=io.StringIO())
    [row] = [line for line in out.getvalue().splitlines() if " chunks | " in line]
    assert int(row.split()[1]) >= 4
    assert row in page.read_text()
    account = get_account("perf-knowledge")
    set_verification(account, verified=True)
    with collect_withheld() as withheld:
        results = search_with_vector(account.pk, KnowledgeSearch(query=Writer().words(5)), None)
    assert results, "the measured searches find something"
    assert withheld.results == set()


def test_an_installation_with_accounts_is_refused(acme: Account) -> None:
    with pytest.raises(CommandError, match="has accounts"):
        call_command("knowledge_perf", "verify", "--here")
