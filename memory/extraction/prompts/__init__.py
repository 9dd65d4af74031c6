"""Prompts of the chat model, one file each, with `$names` as placeholders.

Everything inside `<conversation>` and similar tags is untrusted: the prompts say so, and answers
are validated (memory.extraction.response_schema).
"""

from pathlib import Path

from kmapp.providers.prompt_templates import Prompts

FOLDER = Path(__file__).parent
prompt = Prompts(FOLDER)
