"""The home page: what waits for this person, composed of the sections that other pages offer."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kmapp.web.http import WebRequest
from kmapp.web.navigation import PANELS, address
from kmapp.web.page_access import reviewer_required


@require_safe
@reviewer_required
def home(request: WebRequest) -> HttpResponse:
    panels = [
        {"url": url, "label": label} for name, label in PANELS.items() if (url := address(name))
    ]
    return render(request, "web/home/index.html", {"panels": panels})
