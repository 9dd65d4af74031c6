"""Section of the home page about rules."""

from django.db.models import Count
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_polled
from rules.models import RulePromotion, RuleSuggestion

Kind = RuleSuggestion.Kind
SUGGESTION_LABELS = (
    (Kind.PROMOTE, gettext_lazy("rules ready to promote")),
    (Kind.DEMOTE, gettext_lazy("rules performing poorly")),
    (Kind.RETIRE, gettext_lazy("rules not used recently")),
)


@page_view("GET")
def summary(request: WebRequest) -> HttpResponse:
    account_id = request.account_id
    suggested = RuleSuggestion.objects.of(account_id).order_by().values("kind")
    kinds = dict(suggested.annotate(number=Count("pk")).values_list("kind", "number"))
    pending = RulePromotion.objects.of(account_id).undecided().count()
    items = [
        {"label": _("promotions pending approval"), "count": pending, "query": ""},
        *(
            {"label": label, "count": kinds.get(kind, 0), "query": f"?suggestion={kind}"}
            for kind, label in SUGGESTION_LABELS
        ),
    ]
    context = {"items": [one for one in items if one["count"]]}
    return render_polled(request, "rules/summary/index.html", context, part="panel")
