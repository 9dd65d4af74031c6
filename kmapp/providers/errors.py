"""Provider errors with the codes that degraded answers record."""

from collections.abc import Mapping, Sequence

from kmapp.errors import Unavailable

RETRY_AFTER = 5.0  # seconds, when the provider names none


class ProviderError(Unavailable):
    """The provider could not be reached, or answered with an error."""

    code = "km_provider_error"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after=RETRY_AFTER if retry_after is None else retry_after)


class ProviderTimeout(ProviderError):
    """No whole answer before the deadline."""

    code = "km_timeout"


class CircuitOpen(ProviderError):
    """The provider failed so often that it is left alone for a while: nothing was sent."""

    code = "km_circuit_open"


class Faulted(ProviderError):
    """The provider is there but broke over what we sent: perhaps over one text of many."""


class Refused(ProviderError):
    """The provider is well but does not accept what we sent: asking again changes nothing."""


class BadVectors(ProviderError):
    """Some texts have no usable vector: `reasons` by position; `vectors` keeps the others."""

    code = "km_bad_vector"

    def __init__(
        self, reasons: Mapping[int, str], vectors: Sequence[list[float] | None] = ()
    ) -> None:
        first = min(reasons)
        super().__init__(f"{len(reasons)} unusable: text {first}: {reasons[first]}")
        self.reasons = dict(reasons)
        self.vectors = list(vectors)
