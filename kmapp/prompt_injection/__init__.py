"""Detection of text that gives instructions to a language model. Pure.

`detect_flags` names what a reviewer should check. Expressions run over text with full width, hidden
and look-alike characters replaced, in lower case. confusable-homoglyphs 3.3.1 (314 letters in place
of 19) changed no flag of 10,039 texts and takes 18 MB in each process, so the table is our own.
"""

from kmapp.prompt_injection.detector import FLAGS, detect_flags, extract_excerpts

__all__ = ["FLAGS", "detect_flags", "extract_excerpts"]
