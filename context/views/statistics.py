"""Daily figures of calls and of the tokens that assembly saved, and their charts."""

from django.utils.translation import gettext_lazy as _

from kmapp.database.raw_sql import fetch_all
from kmapp.web.statistics.daily import DailyChart, Day, Figures, daily_figures

# The largest size before a decision is the size of the call before anything was removed.
TOTALS = """
SELECT count(*), coalesce(sum(total), 0), coalesce(sum(greatest(0, before - total)), 0)
  FROM context_contextcostreport CROSS JOIN LATERAL (
    SELECT max((decision ->> 'tokens_before')::bigint) AS before
      FROM jsonb_array_elements(report -> 'decisions') AS decision
  ) whole
 WHERE account_id = %s AND created_at >= %s AND created_at < %s
"""


@daily_figures(
    DailyChart(
        name="tokens",
        title=_("Tokens of calls"),
        series={"call_tokens": _("sent"), "tokens_saved": _("saved by assembly")},
    ),
    DailyChart(name="calls", title=_("Calls per day"), series={"calls": _("calls")}),
)
def count_calls(day: Day) -> Figures:
    [(calls, tokens, saved)] = fetch_all(TOTALS, [day.account_id, day.start, day.end])
    return {"calls": calls, "call_tokens": int(tokens), "tokens_saved": int(saved)}
