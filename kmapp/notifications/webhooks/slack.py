"""Payloads that the incoming webhooks of Slack, and of products that accept the same, display.

https://docs.slack.dev/messaging/formatting-message-text: text of others is escaped, so that it can
neither mention people nor hide where a link leads.
"""

from typing import Any

from kmapp.notifications.webhooks.change_registry import ReportedChange, list_event_types
from kmapp.notifications.webhooks.payloads import Payload, register_format

FORMAT = "slack"
MAX_LENGTH = 300  # characters of a text that is quoted
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def escape_text(text: str) -> str:
    return text.translate(_ESCAPES)


def build_slack_payload(change: ReportedChange) -> Payload:
    label = str(list_event_types().get(change.event_type, change.event_type))
    details = [str(change.data[name]) for name in ("text", "title") if change.data.get(name)]
    lines = [line for line in details if line != label]
    quoted = [escape_text(_shorten_text(line)) for line in lines]
    url = change.data.get("url")
    link = f"<{escape_text(url)}|kmapp>" if url else "kmapp"
    body = "\n".join([f"*{escape_text(label)}*", *quoted])
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": body, "verbatim": True}},
        {
            "type": "context",
            "elements": [{"type": "mrkdwn", "text": f"{link} · {change.event_type}"}],
        },
    ]
    return {"text": ": ".join([escape_text(label), *quoted]), "blocks": blocks}


def _shorten_text(text: str) -> str:
    text = " ".join(text.split())  # a line of its own could pose as another message
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


register_format(FORMAT, build_slack_payload)
