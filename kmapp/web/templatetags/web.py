"""Template tags and filters. All of them escape the texts of people and agents."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django import template
from django.apps import apps
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from kmapp.text.highlight import Piece
from kmapp.web import bounded_counts, diff, icons, success_messages, timestamps
from kmapp.web.charts import Chart
from kmapp.web.http import format_cursor
from kmapp.web.invisible_characters import mark_invisible
from kmapp.web.navigation import SESSION, find_url
from kmapp.web.site_search.query import TYPE, SiteQuery
from kmapp.web.status_badges import BADGES

register = template.Library()
register.filter(success_messages.undo_address)
register.filter(bounded_counts.format_figure)


@register.simple_tag
def icon(name: str) -> str:
    return format_html(
        '<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" '
        'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">{}</svg>',
        mark_safe(icons.load_drawing(name)),  # noqa: S308 - a vendored file, whose digest a test checks
    )


# Long lists use these two; an inclusion template would take longer than the rest of the page.
@register.simple_tag
def badge(state: str) -> str:
    state_badge = BADGES[state]
    return format_html(
        '<span class="badge-state {}">{}{}</span>',
        state_badge.tone,
        icon(state_badge.icon),
        state_badge.label,
    )


@register.simple_tag
def relative_time(moment: datetime | None) -> str:
    """Render how long ago a time is, with the exact time on hover."""
    if moment is None:
        return format_html('<span class="muted">{}</span>', _("never"))
    return format_html(
        '<time class="nowrap" datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        timestamps.format_exact(moment),
        timestamps.format_relative(moment),
    )


@register.inclusion_tag("components/meter.html")
def meter(
    value: float, maximum: float, label: str, *, low: float | None = None
) -> dict[str, object]:
    """Render a bar by SVG attributes: the CSP forbids inline styles."""
    share = min(max(value / maximum, 0), 1) if maximum else 0
    is_low = low is not None and value < low
    return {"percent": round(share * 100, 1), "label": label, "is_low": is_low}


@register.inclusion_tag("components/chart.html", name="chart")
def render_chart(chart: Chart) -> dict[str, Chart]:
    return {"chart": chart}


@register.filter
def chart_number(value: float | None) -> str:
    """Format a value of a chart: two decimals, three digits below 1, a dash if it is unknown."""
    if value is None:
        return "–"
    if value % 1 == 0:
        return number_format(int(value), force_grouping=True)
    rounded = round(value, 2) if abs(value) >= 1 else float(f"{value:.3g}")
    return number_format(rounded, force_grouping=True)


@register.inclusion_tag("components/copyable.html")
def copyable(value: object, *, show: str = "") -> dict[str, str]:
    """Render an id or a hash: shortened on the page, complete in the clipboard."""
    return {"whole": str(value), "short": show or shortened(value)}


@register.simple_tag
def session_url(run_id: str, pk: UUID, moment: datetime) -> str:
    """Return the page of a session, at the place of the item with this id and time."""
    query = urlencode({"run": run_id, "at": format_cursor(moment, UUID(int=0))})
    return f"{find_url(SESSION)}?{query}#{pk}"


@register.filter
def shortened(value: object) -> str:
    """Return the first eight characters of a hash, or the last eight of a UUIDv7."""
    whole = str(value)
    return f"…{whole[-8:]}" if "-" in whole else whole[:8]


@register.filter
def user_text(text: object) -> str:
    """Render text of people or agents: no htmx, isolated direction, invisible characters marked."""
    return format_html("<bdi hx-disable>{}</bdi>", mark_invisible(str(text)))


@register.filter
def pairs(mapping: object) -> list[tuple[object, object]]:
    """Return the names and values of an object of agents, which may have any names.

    In a template, `mapping.items` would be the value of the name "items" if there is one.
    """
    return list(mapping.items()) if isinstance(mapping, Mapping) else []


@register.filter
def highlighted(pieces: Iterable[Piece]) -> str:
    """Render a text in pieces, with the matches marked."""
    marked = (
        (format_html("<mark>{}</mark>" if hit else "{}", mark_invisible(text)),)
        for text, hit in pieces
    )
    return format_html("<bdi hx-disable>{}</bdi>", format_html_join("", "{}", marked))


@register.filter
def of_type(query: SiteQuery, name: str) -> str:
    """Return the URL of the search with results of one type only."""
    return "?" + urlencode({"q": f"{query.text} {TYPE}:{name}"})


@register.filter
def display_value(value: object) -> str:
    """Format the value of any column: lists with commas, empty values as a dash."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False) if value else "–"
    return "–" if value in ("", None) else str(value)


@register.simple_tag(name="diff")
def render_diff(old: str, new: str, *, folded: bool = False) -> str:
    """Render the changes; `folded` leaves out long unchanged parts."""
    tags = {"same": "{}", "added": "<ins>{}</ins>", "removed": "<del>{}</del>"}
    changes = diff.diff_pieces(old, new)
    pieces = (
        format_html('<span class="unchanged">{}</span>', diff.FOLD)
        if kind == "same" and text == diff.FOLD
        else format_html(tags[kind], mark_invisible(text))
        for kind, text in (diff.fold(changes) if folded else changes)
    )
    return format_html('<div class="diff" hx-disable>{}</div>', mark_safe("".join(pieces)))  # noqa: S308 - escaped pieces


@register.filter
def actor_name(actor: str, names: dict[str, str]) -> str:
    """Return the name of an actor, from `list_actor_names`."""
    return names.get(actor, actor)


@register.filter
def label_changes(
    counts: Iterable[tuple[str | None, str | None, int]],
) -> list[tuple[str, str, int]]:
    """Return the counted changes of a commit with the names of their types.

    A malformed change has an empty operation or name.
    """
    names = {model._meta.label_lower: str(model._meta.verbose_name) for model in apps.get_models()}
    # What is not a model, such as `memory.person`, has no other name.
    labelled = [(op or "", label or "", number) for op, label, number in counts]
    return [
        (op, names.get(label, label.rpartition(".")[2]), number) for op, label, number in labelled
    ]
