"""Refusal of files in which the configured virus scanner finds something."""

from collections.abc import Iterable

import structlog
from django.conf import settings
from django.utils.translation import gettext as _

from kmapp.errors import Invalid, Unavailable
from kmapp.security.clamd import ScanFailed, ScannerUnreachable, scan_file

SCANNER_PAUSE = 30.0  # seconds until a client should try again
log = structlog.get_logger()


class CannotScan(Unavailable):
    """The scanner could not scan this file, for example because of its size."""


def refuse_infected(pieces: Iterable[bytes], *, name: str, sha256: str, path: str) -> None:
    """Raise Invalid if a file has a virus; `path` is its place in the request.

    Call it outside of transactions, because the scanner may take long.
    """
    if not settings.CLAMD_SOCKET:
        return
    try:
        virus = scan_file(settings.CLAMD_SOCKET, pieces, timeout=settings.CLAMD_SECONDS)
    except ScanFailed as error:
        log.error("scanner_failed", error=str(error))
        refusal = Unavailable if isinstance(error, ScannerUnreachable) else CannotScan
        raise refusal(
            _("The virus scanner is not available, so nothing was stored. Try again later."),
            code="scanner_unavailable",
            retry_after=SCANNER_PAUSE,
        ) from error
    if virus:
        log.warning("file_refused", virus=virus, sha256=sha256)
        message = _("“%(ref)s” contains a virus (%(virus)s), so nothing was stored.")
        raise Invalid(
            message % {"ref": name, "virus": virus},
            code="infected",
            issues=[{"path": path, "message": f"contains {virus}"}],
        )
