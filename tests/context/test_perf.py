"""The command that measures runs, and leaves nothing behind."""

from io import StringIO

import pytest
from django.core.management import call_command

from context.benchmarks import fixtures
from kmapp.accounts.models import Account

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("assemble", "--number", "2"), "all but retrieval"),
        (("replay", "--calls", "2"), "2 calls replayed twice"),
        (("pages", "--calls", "40", "--number", "1"), "costs by tool"),
    ],
)
def test_each_measure_says_what_it_took(asked: tuple[str, ...], said: str) -> None:
    before, out = Account.objects.count(), StringIO()
    call_command("context_perf", *asked, stdout=out)
    assert said in out.getvalue()
    assert Account.objects.count() == before


def test_the_conversation_is_as_large_as_the_figure_says() -> None:
    messages = fixtures.conversation()
    assert len(messages) == 200
    assert fixtures.count_tokens(messages) == pytest.approx(100_000, rel=0.02)
    assert len(fixtures.tools()) == 60
