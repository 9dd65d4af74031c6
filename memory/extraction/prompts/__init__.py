"""What a chat model is told, one file each. `$names` are filled in when it is asked.

Everything between the lines of `<conversation>` and its kin was written by others: the prompts say
so, and what comes back is not trusted either (memory.extraction.response_schema).
"""

from pathlib import Path

from kmapp.providers.prompts import Prompts

FOLDER = Path(__file__).parent
prompt = Prompts(FOLDER)
