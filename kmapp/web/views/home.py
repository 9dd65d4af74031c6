"""The home page, composed of sections that other apps render."""

from django.http import HttpResponse
from django.shortcuts import render

from kmapp.web.http import WebRequest
from kmapp.web.navigation import HOME_PANELS, find_url
from kmapp.web.page_access import page_view


@page_view("GET")
def home(request: WebRequest) -> HttpResponse:
    panels = [
        {"url": url, "label": label}
        for name, label in HOME_PANELS.items()
        if (url := find_url(name))
    ]
    return render(request, "web/home/index.html", {"panels": panels})
