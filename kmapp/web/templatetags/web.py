"""What pages are made of. Everything here escapes what people and agents wrote."""

import json
from datetime import datetime

from django import template
from django.contrib.messages.storage.base import Message
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from kmapp.web import diff, icons, invisible_characters, notices, timestamps
from kmapp.web.badges import BADGES

register = template.Library()


@register.simple_tag
def icon(name: str) -> str:
    return format_html(
        '<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" '
        'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">{}</svg>',
        mark_safe(icons.drawing(name)),  # noqa: S308 - a file of ours, held to its digest by a test
    )


# Long lists are made of these two: a template of their own would take longer than all the rest.
@register.simple_tag
def badge(state: str) -> str:
    """A state as icon and word."""
    shown = BADGES[state]
    return format_html(
        '<span class="badge-state {}">{}{}</span>', shown.tone, icon(shown.icon), shown.label
    )


@register.simple_tag
def when(moment: datetime | None) -> str:
    """How long ago, with the exact time on hover and for machines."""
    if moment is None:
        return format_html('<span class="muted">{}</span>', _("never"))
    return format_html(
        '<time class="nowrap" datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        timestamps.exact(moment),
        timestamps.relative(moment),
    )


@register.inclusion_tag("components/meter.html")
def meter(
    value: float, maximum: float, label: str, *, low: float | None = None
) -> dict[str, object]:
    """A bar drawn by attributes, since our policy refuses inline styles."""
    share = min(max(value / maximum, 0), 1) if maximum else 0
    is_low = low is not None and value < low
    return {"percent": round(share * 100, 1), "label": label, "is_low": is_low}


@register.inclusion_tag("components/copyable.html")
def copyable(value: object, *, show: str = "") -> dict[str, str]:
    """An id or a hash: short to the eye, whole to the clipboard."""
    return {"whole": str(value), "short": show or shortened(value)}


@register.filter
def shortened(value: object) -> str:
    """Eight characters: the first of a hash, the last of an id, whose first ones are the time."""
    whole = str(value)
    return f"…{whole[-8:]}" if "-" in whole else whole[:8]


@register.filter
def said(text: object) -> str:
    """Words that are not ours: deaf to htmx, unable to turn the line around, nothing hidden."""
    return format_html("<bdi hx-disable>{}</bdi>", _visible(str(text)))


@register.filter
def listed(value: object) -> str:
    """A value of any column as words: a list with commas, what is empty as a dash."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False) if value else "–"
    return "–" if value in ("", None) else str(value)


@register.simple_tag(name="diff")
def diff_html(old: str, new: str) -> str:
    """The change from one text to another, word by word."""
    tags = {"same": "{}", "added": "<ins>{}</ins>", "removed": "<del>{}</del>"}
    pieces = ((format_html(tags[kind], _visible(text)),) for kind, text in diff.changes(old, new))
    return format_html('<div class="diff" hx-disable>{}</div>', format_html_join("", "{}", pieces))


def _visible(text: str) -> SafeString:
    """Escaped, with a badge wherever nothing would be seen."""
    if not invisible_characters.hides(text):
        return escape(text)
    pieces = invisible_characters.parts(text)
    return format_html_join("", "{}", ((_badge(one) if hid else one,) for one, hid in pieces))


def _badge(character: str) -> SafeString:
    return format_html(
        '<span class="invisible-char" title="{}">{}</span>',
        invisible_characters.name(character),
        f"U+{ord(character):04X}",
    )


@register.filter
def undo_address(message: Message) -> str:
    return notices.undo_address(message)


@register.filter
def called(actor: str, names: dict[str, str]) -> str:
    """The name of an actor, from `names_of`."""
    return names.get(actor, actor)


@register.filter
def object_kind(name: str) -> str:
    """What sort of object a commit's line is about."""
    return name.partition(":")[0].rpartition(".")[2]
