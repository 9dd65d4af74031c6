"""Pages for tests, such as ones that fail, in addition to the pages of the product."""

from django.db import OperationalError
from django.http import HttpResponse
from django.shortcuts import render
from django.template import engines
from django.urls import include, path

from kmapp.accounts.permissions import Permission
from kmapp.errors import Conflict
from kmapp.urls import handler400, handler403, handler404, handler500
from kmapp.web import success_messages
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]


def busy(request: WebRequest) -> HttpResponse:
    raise OperationalError


def breaks(request: WebRequest) -> HttpResponse:
    raise ZeroDivisionError


@page_view("GET", "POST")
def refuses(request: WebRequest) -> HttpResponse:
    raise Conflict("Someone <b>approved</b> it first.")


@page_view("GET", needs=Permission.MEMBERS)
def admins(request: WebRequest) -> HttpResponse:
    return HttpResponse("for admins")


@page_view("GET", "POST")
def tells(request: WebRequest) -> HttpResponse:
    success_messages.notify_success(request, "Approved <i>it</i>.", undo="/undo/")
    if request.htmx:
        return HttpResponse("<p>part</p>")
    return render(request, "web/home/index.html", {"panels": []})


ROWS = """{% extends "base.html" %}{% load web %}{% block title %}Rows{% endblock %}
{% block heading %}Rows{% endblock %}
{% block content %}
<button type="button" data-key="a" data-press="page">Approve all <kbd>a</kbd></button>
<button type="button" data-key="x" data-press="hidden" hidden>Hidden</button>
<label>Text <input id="text"></label>
<form hx-post="/rows/" hx-swap="none"><textarea aria-label="Note" id="note"></textarea>
<button type="submit" data-key="Mod+Enter" data-press="sent">Send</button></form>
<ol>{% for row in "123" %}<li data-row id="row-{{ row }}"><a href="#{{ row }}">row {{ row }}</a>
<button type="button" data-key="p" data-press="pin-{{ row }}">Pin</button>
<button type="button" data-key="d" hx-post="/rows/" hx-target="closest li" hx-swap="delete">
Drop</button></li>{% endfor %}</ol>
<button type="button" id="fail" hx-get="/breaks/">Fail</button>
<button type="button" id="refuse" hx-get="/refuses/">Refuse</button>
<button type="button" id="tell" hx-get="/tells/" hx-target="#said">Tell</button>
<a href="/box/" id="open" hx-get="/box/" hx-target="#dialog">Open</a>
{% copyable "9f3c2ab4d2e1f00a" %}
<div id="polled" data-poll="/polled/" data-poll-seconds="15">first</div>
{% endblock %}"""


BOX = """<h2>Box</h2><button type="button" data-close>Close</button>
<form><textarea name="words" aria-label="Words" rows="4">tea</textarea></form>"""


@page_view("GET", "POST")
def rows(request: WebRequest) -> HttpResponse:
    template = engines["django"].from_string(ROWS)
    return HttpResponse(template.render({}, request))


@page_view("GET", "POST")
def box(request: WebRequest) -> HttpResponse:
    return HttpResponse(BOX)


urlpatterns = [
    path("rows/", rows),
    path("box/", box),
    path("breaks/", breaks),
    path("busy/", busy),
    path("refuses/", refuses),
    path("admins/", admins),
    path("tells/", tells),
    path("", include("kmapp.urls")),
]
