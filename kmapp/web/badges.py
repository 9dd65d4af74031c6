"""How a state looks: always an icon and a word, and a colour that only helps."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Badge:
    label: str | Promise
    icon: str
    tone: str


BADGES = {
    # What a memory, a rule or a person's proposal is.
    "proposed": Badge(_("Proposed"), "clock", "is-amber"),
    "active": Badge(_("Active"), "circle-check", "is-green"),
    "superseded": Badge(_("Superseded"), "replace", ""),
    "rejected": Badge(_("Rejected"), "ban", "is-red"),
    "forgotten": Badge(_("Forgotten"), "archive", ""),
    "erased": Badge(_("Erased"), "eraser", "is-struck"),
    "draft": Badge(_("Draft"), "circle-dashed", ""),
    "shadow": Badge(_("Shadow"), "ghost", "is-violet"),
    "disabled": Badge(_("Disabled"), "ban", ""),
    "pinned": Badge(_("Pinned"), "pin", "is-plain"),
    # What a proposal asks of a reviewer.
    "new": Badge(_("New"), "plus", "is-plain"),
    "update": Badge(_("Update"), "replace", "is-plain"),
    "duplicate": Badge(_("Near-duplicate"), "copy", "is-violet"),
    "contradiction": Badge(_("Contradiction"), "git-compare", "is-red"),
    "flagged": Badge(_("Flagged"), "shield-alert", "is-amber"),
    # How far the machine has come with it.
    "pending": Badge(_("Pending"), "circle-dashed", "is-amber"),
    "running": Badge(_("Running"), "activity", "is-amber"),
    "none": Badge(_("Words only"), "minus", "is-plain"),
    "cold": Badge(_("Cold"), "archive", "is-plain"),
    "ready": Badge(_("Ready"), "circle-check", "is-plain"),
    "succeeded": Badge(_("Done"), "circle-check", "is-green"),
    "failed": Badge(_("Failed"), "circle-alert", "is-red"),
    "verified": Badge(_("Verified"), "shield-check", "is-green"),
    "broken": Badge(_("Broken"), "triangle-alert", "is-red"),
    # How far a source of documents is trusted.
    "trusted": Badge(_("Trusted"), "shield-check", "is-green"),
    "semi_trusted": Badge(_("Semi-trusted"), "shield", ""),
    "untrusted": Badge(_("Untrusted"), "shield-alert", "is-amber"),
    # What a key is.
    "expired": Badge(_("Expired"), "clock", ""),
    "revoked": Badge(_("Revoked"), "ban", "is-struck"),
    # What a person is.
    "admin": Badge(_("Admin"), "key-round", ""),
    "reviewer": Badge(_("Reviewer"), "circle-user-round", ""),
}
