"""What pages are made of. Everything here escapes what people and agents wrote."""

from datetime import datetime

from django import template
from django.contrib.messages.storage.base import Message
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from kmapp.web import badges, diff, icons, invisible, moments, notices

register = template.Library()


@register.simple_tag
def icon(name: str) -> str:
    drawing = mark_safe(icons.drawing(name))  # noqa: S308 - a file of ours, checked by its digest
    return format_html(
        '<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" '
        'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">{}</svg>',
        drawing,
    )


@register.simple_tag
def badge(state: str) -> str:
    """A state as icon and word."""
    shown = badges.BADGES[state]
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
        moments.exact(moment),
        moments.relative(moment),
    )


def _visible(text: str) -> SafeString:
    """Escaped, with a badge wherever nothing would be seen."""
    return format_html_join(
        "", "{}", ((_badge_for(piece) if hidden else piece,) for piece, hidden in invisible.parts(text))
    )


def _badge_for(character: str) -> SafeString:
    return format_html(
        '<span class="invisible-char" title="{}">{}</span>',
        invisible.name(character),
        f"U+{ord(character):04X}",
    )


@register.filter
def said(text: str) -> str:
    """Words that are not ours: kept to their own direction, deaf to htmx, with nothing hidden in them."""
    return format_html("<bdi hx-disable>{}</bdi>", _visible(str(text)))


@register.simple_tag(name="diff")
def diff_html(old: str, new: str) -> str:
    """The change from one text to another, word by word."""
    tags = {"same": "{}", "added": "<ins>{}</ins>", "removed": "<del>{}</del>"}
    pieces = ((format_html(tags[kind], _visible(text)),) for kind, text in diff.changes(old, new))
    return format_html('<div class="diff" hx-disable>{}</div>', format_html_join("", "{}", pieces))


@register.simple_tag
def meter(value: float, maximum: float, label: str, *, low: float | None = None) -> str:
    """A bar drawn by attributes, since our policy refuses inline styles."""
    share = min(max(value / maximum, 0), 1) if maximum else 0
    tone = " is-low" if low is not None and value < low else ""
    return format_html(
        '<svg class="meter{}" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="track" width="100" height="6"/><rect class="fill" width="{}" height="6"/></svg>',
        tone,
        label,
        round(share * 100, 1),
    )


@register.simple_tag
def copyable(value: object, *, show: str = "") -> str:
    """An id or a hash: short to the eye, whole to the clipboard."""
    whole = str(value)
    return format_html(
        '<button type="button" class="copy" data-copy="{}" title="{}" aria-label="{} {}">{}{}</button>',
        whole,
        whole,
        _("Copy"),
        whole,
        show or shortened(whole),
        icon("copy"),
    )


@register.filter
def shortened(value: object) -> str:
    """Eight characters: the first of a hash, the last of an id, whose first ones are the time."""
    whole = str(value)
    if "-" in whole:
        return f"…{whole[-8:]}"
    return whole[:8]


@register.filter
def undo_address(message: Message) -> str:
    return notices.undo_address(message)

