"""The variant that a request selects by header."""

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from kmapp.errors import Invalid
from kmapp.search.variants import VARIANT_HEADER, VARIANTS, Variant

VARIANT = OpenApiParameter(
    VARIANT_HEADER,
    str,
    OpenApiParameter.HEADER,
    description="Which versions of index and ranking answer. The answer names its own.",
    enum=list(VARIANTS),
)
# Tags of endpoints that have variants; all others ignore the header.
TAGS = frozenset({"memory", "knowledge", "context", "tool-results"})


def get_requested_variant(request: Request) -> Variant | None:
    name = request.headers.get(VARIANT_HEADER)
    if name is None:
        return None
    if name not in VARIANTS:
        names = ", ".join(VARIANTS)
        raise Invalid(
            f"Unknown variant {name[:50]!r}. Use one of {names}.",
            code="unknown_variant",
            issues=[{"path": VARIANT_HEADER, "message": f"is none of {names}"}],
        )
    return VARIANTS[name]
