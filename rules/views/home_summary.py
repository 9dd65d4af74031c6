"""Section of the home page about rules."""

from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from kmapp.web.http import WebRequest, account_id_for, fragment, respond_unless_unchanged
from kmapp.web.page_access import reviewer_required
from rules.models import RulePromotion, RuleSuggestion

Kind = RuleSuggestion.Kind
SUGGESTED = (
    (Kind.PROMOTE, gettext_lazy("rules ready to promote")),
    (Kind.DEMOTE, gettext_lazy("rules performing poorly")),
    (Kind.RETIRE, gettext_lazy("rules not used recently")),
)


@require_safe
@reviewer_required
def summary(request: WebRequest) -> HttpResponse:
    account_id = account_id_for(request)
    suggested = RuleSuggestion.objects.of(account_id).order_by().values("kind")
    kinds = dict(suggested.annotate(number=Count("pk")).values_list("kind", "number"))
    waiting = RulePromotion.objects.of(account_id).undecided().count()
    things = [
        {"label": _("promotions pending approval"), "count": waiting, "query": ""},
        *(
            {"label": label, "count": kinds.get(kind, 0), "query": f"?suggestion={kind}"}
            for kind, label in SUGGESTED
        ),
    ]
    context = {"things": [one for one in things if one["count"]]}
    template = fragment(request, "rules/summary/index.html", "panel")
    return respond_unless_unchanged(request, render(request, template, context))
