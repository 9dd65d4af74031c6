"""Prompts for summaries of untrusted texts by the chat model.

Responses are validated by `context.summaries.summary_requests`, because they are untrusted too.
"""

from pathlib import Path

from kmapp.providers.prompt_templates import Prompts

prompt = Prompts(Path(__file__).parent)
