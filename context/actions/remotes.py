"""What it takes to have another kmapp answer: an address that is allowed, and a key for it."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from context.models import ContextSettings
from kmapp.database.encryption import seal
from kmapp.errors import Invalid

NOTHING = {"remote_url": "", "remote_key": "", "remote_sources": []}


def with_remote(values: Mapping[str, Any], present: ContextSettings) -> dict[str, Any]:
    """The values as they are kept: the key sealed, or gone with its address.

    Addresses are the operator's to allow, so that no account makes this server call another.
    A key is for one address: whoever names another address gives its key too.
    """
    given = dict(values)
    if not given.keys() & NOTHING.keys():
        return given
    key, url = given.pop("remote_key", ""), str(given.get("remote_url", present.remote_url))
    if not url:
        return {**given, **NOTHING}
    given["remote_url"] = url = url.rstrip("/")
    if url not in settings.REMOTE_BASE_URLS:
        known = ", ".join(settings.REMOTE_BASE_URLS) or _("none")
        raise Invalid(
            _("This installation may not ask that address. Allowed: %(known)s.") % {"known": known},
            code="remote_not_allowed",
            issues=[{"path": "remote_url", "message": "is none of REMOTE_BASE_URLS"}],
        )
    if key:
        given["remote_key"] = seal(key)
    elif url != present.remote_url:
        raise Invalid(
            _("Give the key for that address."),
            issues=[{"path": "remote_key", "message": "is missing"}],
        )
    return given
