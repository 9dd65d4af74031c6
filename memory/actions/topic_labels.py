"""Labels of new topics: of the chat model where one is configured, or else noun phrases."""

import json
from collections.abc import Sequence
from time import monotonic

from kmapp.providers import chat
from kmapp.providers.errors import ProviderError
from kmapp.security.prompt_injection import detect_flags
from kmapp.text.everyday_words import EVERYDAY_WORDS
from kmapp.text.terms import extract_terms
from memory.actions.model_requests import InvalidAnswer, limit_answer_time, request_answer
from memory.extraction import response_schema as schema
from memory.extraction.conversation import fence_text
from memory.extraction.prompt_echo import repeats_prompt
from memory.extraction.prompts import prompt
from memory.topics.labels import Background

MAX_TEXTS, MAX_TEXT = 20, 300  # members in a prompt, and characters of each
MAX_WORDS = 6  # terms of a label
MODEL_SECONDS = 60.0  # of a run in which the chat model is asked; phrases label the rest


class Labeller:
    """Labels the topics of one run. Use outside transactions: the chat model may take long."""

    def __init__(self) -> None:
        self.uses_model = chat.is_configured()
        self.model_deadline = monotonic() + MODEL_SECONDS

    def label(self, background: Background, texts: Sequence[str]) -> str:
        """Return a label, or "" for texts that are about nothing in particular."""
        phrases = background.name(texts)
        uses_model = phrases and self.uses_model and monotonic() < self.model_deadline
        return (self._request_label(texts) if uses_model else "") or phrases

    def _request_label(self, texts: Sequence[str]) -> str:
        """Return the label of the chat model, or "" if it cannot be used."""
        system = prompt("topic_label")
        source = json.dumps([text[:MAX_TEXT] for text in texts[:MAX_TEXTS]], ensure_ascii=False)
        try:
            with limit_answer_time(self.model_deadline - monotonic()):
                answer = request_answer(
                    system,
                    fence_text("memories", source),
                    lambda raw: schema.parse_one(raw, schema.TopicLabel),
                    schema.TOPIC_LABEL_SCHEMA,
                )
        except InvalidAnswer:
            return ""
        except ProviderError:
            self.uses_model = False  # the other topics of this run do not wait for it
            return ""
        label = answer.value.label
        return label if _is_usable(label, system, source) else ""


def _is_usable(label: str, system: str, source: str) -> bool:
    """Return whether a label is short, about the memories, and no instruction."""
    words = extract_terms(label)
    specific = {word for word in words if word not in EVERYDAY_WORDS}
    return (
        len(words) <= MAX_WORDS
        and not specific.isdisjoint(extract_terms(source))
        and not repeats_prompt(label, system, source)
        and not detect_flags(label)
    )
