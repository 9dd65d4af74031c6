"""What a chat model is told when it is to sum up. What it reads was written by others.

The prompts say so, and what comes back is not trusted either (context.summaries.model_summaries).
"""

from pathlib import Path

from kmapp.providers.prompts import Prompts

prompt = Prompts(Path(__file__).parent)
