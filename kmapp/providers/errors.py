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
    """No complete response before the deadline."""

    code = "km_timeout"


class CircuitOpen(ProviderError):
    """The circuit breaker is open after many failures, so nothing was sent."""

    code = "km_circuit_open"


class Faulted(ProviderError):
    """The provider responds but failed to process the input, perhaps one text of many."""


class Refused(ProviderError):
    """The provider does not accept the input, so a retry would not help."""


class BadVectors(ProviderError):
    """Some texts have no usable vector: `reasons` by position; `vectors` has the others."""

    code = "km_bad_vector"

    def __init__(
        self, reasons: Mapping[int, str], vectors: Sequence[list[float] | None] = ()
    ) -> None:
        first = min(reasons)
        super().__init__(f"{len(reasons)} unusable: text {first}: {reasons[first]}")
        self.reasons = dict(reasons)
        self.vectors = list(vectors)
