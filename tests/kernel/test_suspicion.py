"""Text that speaks to a model, told from text that only sounds like it."""

from django.conf import settings

from tests.suspicion import measured, samples, table


def test_what_was_not_tuned_on_is_told_apart_too() -> None:
    """Reliability 39: of texts that were held out, nine of ten, and one in twenty of the others."""
    texts = samples()
    assert [sum(each.hostile for each in texts), len(texts)] == [200, 600]
    held_out = measured([each for each in texts if each.held_out])
    assert held_out.hostile + held_out.benign > len(texts) * 0.3
    assert held_out.recall >= 0.9, held_out
    assert held_out.false_flags <= 0.05, held_out
    assert table() in (settings.BASE_DIR / "docs" / "operations.md").read_text()
