"""The `knowledge index` command, when a document cannot be chunked."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from knowledge.actions import reindex
from knowledge.actions.prepare_delivery import parse_text
from knowledge.models import KnowledgeChunk
from knowledge.parsing.sandbox import CannotParse
from tests.knowledge.builders import deliver


def test_refused_document_does_not_stop_the_others(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(acme, {"a.md": "# A", "b.md": "# B"})
    deliver(acme, {"c.md": "# C"}, name="more")

    def parse(text: str, *arguments: Any) -> Any:
        if text == "# A":
            raise CannotParse("Parsing took longer than 10 seconds.")
        return parse_text(text, *arguments)

    monkeypatch.setattr(reindex, "parse_text", parse)
    errors = StringIO()
    with pytest.raises(CommandError, match="1 documents could not be chunked"):
        call_command("knowledge", "index", "1", "2", account=acme.slug, verbosity=0, stderr=errors)
    assert errors.getvalue() == "docs: a.md: Parsing took longer than 10 seconds.\n"
    with acting(acme):
        chunks = KnowledgeChunk.objects.of(acme).order_by("document__ref", "index_version")
        assert list(chunks.values_list("text", "index_version")) == [
            ("# A", "1"),
            ("# B", "1"),
            ("# B", "2"),
            ("# C", "1"),
            ("# C", "2"),
        ]
