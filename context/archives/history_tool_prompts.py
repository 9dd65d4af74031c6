"""Texts about the tool that loads an archived result, for tool definitions and prompts. Pure."""

from context.archives.placeholders import TOOL

# The descriptions of the tool and of its arguments.
LOAD_TOOL_HISTORY = {
    "zh": {
        "description": (
            "加载之前工具调用的完整结果。\n\n使用场景：\n- 用户询问之前讨论过的细节\n"
            "- 需要回顾历史检索内容\n- 用户说“之前”、“刚才”、“上次说的”等\n\n"
            "注意：只在确实需要历史详情时调用，避免不必要的加载。"
        ),
        "uuid": "要加载的工具结果 UUID（从占位符中获取）",
        "query": "只要与此相关的段落时填写；需要全文时为 null",
    },
    "en": {
        "description": (
            "Load the complete result of an earlier tool call.\n\nUse it when:\n"
            "- the user asks for details of something discussed before\n"
            "- you need to look again at what was retrieved\n"
            "- the user says “earlier”, “before”, “you said”, and the like\n\n"
            "Call it only when the details are really needed."
        ),
        "uuid": "UUID of the tool result, from its placeholder",
        "query": "What the passages should be about; null for all of it",
    },
}

PARAGRAPHS = {
    "zh": (
        "## 历史工具结果管理\n\n对话中可能包含已存档的工具结果（显示为占位符格式）。\n"
        f"当用户询问之前讨论过的细节时，你可以调用 `{TOOL}` 加载完整内容。\n\n判断依据：\n"
        "- 用户明确提到“之前”、“刚才说的”、“上次”\n- 用户追问之前回答中的具体细节\n"
        "- 占位符中的摘要不足以回答用户问题"
    ),
    "en": (
        "## Earlier tool results\n\nThe conversation may contain placeholders of archived tool "
        f"results. When the user asks for details of them, call `{TOOL}`.\n\n"
        "Load one when:\n- the user refers to “earlier”, “before”, “last time”\n"
        "- the user asks for a detail of an earlier answer\n"
        "- the summary in the placeholder is not enough"
    ),
}
