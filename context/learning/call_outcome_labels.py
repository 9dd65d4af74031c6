"""Labels for learned rankings from calls: from outcomes of calls or ratings in conversations."""

from collections.abc import Iterator
from uuid import UUID

from kmapp.database.raw_sql import fetch_all
from memory.models import Judgement, Viewer
from memory.retrieval.learning.questions import Label, register_labels

# The question of a call is stored with its inputs, so calls with expired inputs have no labels.
_LABELS = """
SELECT i.rest->>'query', r.user_id, r.agent_id, r.app_id, r.conversation_id,
  nullif(i.rest->'wanted'->>'scope', ''), e.id,
  coalesce(m.outcome = 'positive', r.success), m.id IS NOT NULL,
  coalesce(m.created_at, r.outcome_at)
FROM context_contextcostreport r
JOIN context_contextinput i ON i.account_id = r.account_id AND i.report_id = r.id
JOIN context_contextcitation c ON c.account_id = r.account_id AND c.report_id = r.id
JOIN memory_memoryentry e ON e.account_id = r.account_id AND e.id = c.ref
LEFT JOIN LATERAL (SELECT * FROM memory_memoryrating
  WHERE account_id = r.account_id AND entry_id = e.id AND used_in = r.conversation_id
    AND used_in <> '' AND outcome <> 'neutral' ORDER BY created_at DESC LIMIT 1) m ON true
WHERE r.account_id = %s AND i.rest->>'query' <> '' AND (r.success IS NOT NULL OR m.id IS NOT NULL)
ORDER BY r.created_at DESC, r.id LIMIT %s
"""


@register_labels
def list_labels_of_calls(account_id: UUID, limit: int) -> Iterator[Label]:
    """Yield the labels of the newest calls. Inside `acting`.

    The memories in a successful call are relevant to its question, those in a failed one are not;
    the latest rating of a memory in the conversation has priority.
    """
    rows = fetch_all(_LABELS, [account_id, limit])
    for query, user, agent, app, run, scope, entry_id, is_relevant, is_rated, at in rows:
        viewer = Viewer(user_id=user, agent_id=agent, app_id=app, run_id=run, scope=scope)
        source = Judgement.Source.FEEDBACK if is_rated else Judgement.Source.CALL
        yield Label(query, viewer, entry_id, is_relevant, source, at)
