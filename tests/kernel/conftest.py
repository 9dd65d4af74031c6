from dataclasses import dataclass

import pytest


@dataclass(frozen=True, kw_only=True)
class Form:
    """An embedding model without its row."""

    name: str = "fake"
    dimensions: int = 384
    query_prefix: str = ""
    passage_prefix: str = ""
    sends_input_type: bool = False


@pytest.fixture
def form() -> Form:
    return Form()
