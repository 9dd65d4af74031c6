"""Detection of text that gives instructions to a language model. Pure.

`detect_flags` names what a reviewer should check. Expressions run over text with full width, hidden
and look-alike characters replaced, in lower case.
"""

from kmapp.security.prompt_injection.detector import FLAGS, detect_flags, extract_excerpts

__all__ = ["FLAGS", "detect_flags", "extract_excerpts"]
