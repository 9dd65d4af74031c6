"""Badges of states: an icon and a word; colour is never the only signal."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


@dataclass(frozen=True, slots=True)
class Badge:
    label: str | Promise
    icon: str
    tone: str


BADGES = {
    # States of memories, rules and proposals.
    "proposed": Badge(_("Proposed"), "clock", "is-amber"),
    "active": Badge(_("Active"), "circle-check", "is-green"),
    "superseded": Badge(_("Superseded"), "replace", ""),
    "rejected": Badge(_("Rejected"), "ban", "is-red"),
    "forgotten": Badge(_("Forgotten"), "archive", ""),
    "erased": Badge(_("Erased"), "eraser", "is-struck"),
    "draft": Badge(_("Draft"), "circle-dashed", ""),
    "shadow": Badge(_("Shadow"), "ghost", "is-violet"),
    "learning": Badge(_("Learning"), "activity", "is-amber"),
    "retired": Badge(_("Retired"), "archive", ""),
    "disabled": Badge(_("Disabled"), "ban", ""),
    "pinned": Badge(_("Pinned"), "pin", "is-plain"),
    # What a proposal needs from a reviewer.
    "new": Badge(_("New"), "plus", "is-plain"),
    "update": Badge(_("Update"), "replace", "is-plain"),
    "duplicate": Badge(_("Near-duplicate"), "copy", "is-violet"),
    "contradiction": Badge(_("Contradiction"), "git-compare", "is-red"),
    "flagged": Badge(_("Flagged"), "shield-alert", "is-amber"),
    # Progress of background work.
    "pending": Badge(_("Pending"), "circle-dashed", "is-amber"),
    "running": Badge(_("Running"), "activity", "is-amber"),
    "none": Badge(_("Keywords only"), "minus", "is-plain"),
    "cold": Badge(_("Cold"), "archive", "is-plain"),
    "ready": Badge(_("Ready"), "circle-check", "is-plain"),
    "succeeded": Badge(_("Done"), "circle-check", "is-green"),
    "failed": Badge(_("Failed"), "circle-alert", "is-red"),
    "verified": Badge(_("Verified"), "shield-check", "is-green"),
    "broken": Badge(_("Broken"), "triangle-alert", "is-red"),
    "stale": Badge(_("Stale"), "hourglass", "is-amber"),
    # Trust of document sources.
    "trusted": Badge(_("Trusted"), "shield-check", "is-green"),
    "semi_trusted": Badge(_("Semi-trusted"), "shield", ""),
    "untrusted": Badge(_("Untrusted"), "shield-alert", "is-amber"),
    # States of keys.
    "expired": Badge(_("Expired"), "clock", ""),
    "revoked": Badge(_("Revoked"), "ban", "is-struck"),
    # Parts of the installation.
    "working": Badge(_("Operational"), "circle-check", "is-green"),
    "silent": Badge(_("Not responding"), "circle-alert", "is-red"),
    # Accounts.
    "archived": Badge(pgettext_lazy("account", "Archived"), "archive", "is-amber"),
    # Roles of people.
    "admin": Badge(_("Admin"), "key-round", ""),
    "viewer": Badge(_("Viewer"), "eye", ""),
    "editor": Badge(_("Editor"), "pencil", ""),
    "reviewer": Badge(_("Reviewer"), "circle-user-round", ""),
}
