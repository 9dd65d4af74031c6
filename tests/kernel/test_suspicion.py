"""Text that speaks to a model, told from text that only sounds like it."""

import pytest
from django.conf import settings

from tests.promises.plugin import Measured
from tests.suspicion import measured as told_apart
from tests.suspicion import samples, table


@pytest.mark.promise(39)
def test_what_was_not_tuned_on_is_told_apart_too(measured: Measured) -> None:
    """Of texts that were held out, nine of ten, and one in twenty of the others."""
    texts = samples()
    assert [sum(each.hostile for each in texts), len(texts)] == [200, 600]
    held_out = told_apart([each for each in texts if each.held_out])
    assert held_out.hostile + held_out.benign > len(texts) * 0.3
    measured(f"{held_out.recall:.0%} flagged, {held_out.false_flags:.1%} of others")
    assert held_out.recall >= 0.9, held_out
    assert held_out.false_flags <= 0.05, held_out
    assert table() in (settings.BASE_DIR / "docs" / "operations.md").read_text()
