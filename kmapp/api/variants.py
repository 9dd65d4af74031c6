"""The variant that a request asks for, by header."""

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from kmapp.errors import Invalid
from kmapp.search.variants import HEADER, VARIANTS, Variant

VARIANT = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description="Which versions of index and ranking answer. The answer names its own.",
    enum=list(VARIANTS),
)
# What they answer for. Others take the header too, and nothing changes by it.
TAGS = frozenset({"memory", "knowledge", "context", "tool-results"})


def asked_variant(request: Request) -> Variant | None:
    """None where none is asked for."""
    said = request.headers.get(HEADER)
    if said is None:
        return None
    if said not in VARIANTS:
        known = ", ".join(VARIANTS)
        raise Invalid(
            f"There is no variant {said[:50]!r}: choose one of {known}.",
            code="unknown_variant",
            issues=[{"path": HEADER, "message": f"is none of {known}"}],
        )
    return VARIANTS[said]
