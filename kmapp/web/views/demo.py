"""Loading of demo data into an empty account, with its progress."""

from django.http import HttpResponse
from django.shortcuts import redirect

from kmapp.accounts.permissions import Permission
from kmapp.management.demo.load_demo import find_last_delivery, list_steps, request_demo
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_polled


@page_view("GET", needs=Permission.OPERATE)
def demo(request: WebRequest) -> HttpResponse:
    steps = list_steps(request.account_id)
    context = {
        "delivery": find_last_delivery(request.account_id),
        "steps": steps,
        "done": sum(step.has_data for step in steps),
    }
    return render_polled(request, "web/demo/index.html", context, part="progress")


@page_view("POST", needs=Permission.OPERATE)
def load(request: WebRequest) -> HttpResponse:
    request_demo(request.account_id, request.actor)
    return redirect("web:demo")
