"""Weak signals: ordinary words that memories seldom combine unless they address a model.

Three groups of words in one text, one of them an order or an address, are suspicious.
"""

import re

_LEAST_GROUPS = 3
_LONGEST = 600  # characters; in a longer text three groups occur by chance

_GROUPS = {
    "addresses": r"\b(?:you|your|yourself)\b|[你您]",
    "orders": (
        r"\b(?:always|never|must|shall|every|all|whenever|immediately|right away|from now on"
        r"|no longer|unlimited|full|entire)\b"
        "|必须|一律|所有|全部|任何|立即|立刻|马上|无条件|不再|优先|完整|直接|不要|不用|无需|不经"
        "|不得|务必"
    ),
    "frame": (
        r"\b(?:prompts?|instructions?|directives?|guidelines?|system (?:message|rules?)"
        r"|developer message|guardrails|safety|restrictions?|constraints?|unrestricted|unfiltered"
        r"|configured)\b|提示词|指令|系统(?:提示|消息|规则)|设定|准则|限制|约束|规则"
    ),
    "model": (
        r"\b(?:ai|assistants?|chatbots?|language models?|llms?|agents?|bots?)\b"
        "|助手|模型|智能体|机器人|人工智能"
    ),
    "answers": (
        r"\b(?:repl(?:y|ies)|answers?|responses?|respond|output|print|reveal|repeat|translate)\b"
        "|回复|回答|输出|打印|复述|答复"
    ),
    "power": (
        r"\b(?:admin(?:istrator)?|root|privileges|approv\w*|trusted|verified|filters?|logging|audit"
        r"|moderation|precedence|outranks?|supersedes?|overrides?)\b"
        "|管理员|权限|审批|审核|可信|过滤|日志|优先级|高于|覆盖|批准"
    ),
    "this text": (
        r"\b(?:memor(?:y|ies)|this (?:note|entry|text|record|rule|paragraph)|conversation"
        r"|context)\b"
        "|记忆|本条|这条|此条|本段|本文|对话|上下文|条目|本消息"
    ),
    "outside": r"https?:|ftp:|www\.|\S@\S|邮箱|外部|服务器",
    "secrets": (
        r"\b(?:keys?|passwords?|secrets?|tokens?|credentials|hidden|secretly|deny)\b"
        "|密钥|密码|隐藏|保密|悄悄|瞒"
    ),
    "users": r"\b(?:users?|customers?|clients?)\b|用户|客户|顾客",
    "tools": (
        r"\b(?:tools?|functions?|execute|invoke|scripts?|commands?|shell|sandbox)\b"
        "|工具|函数|接口|执行|命令|脚本|调用"
    ),
}
_EXPRESSIONS = {name: re.compile(expression) for name, expression in _GROUPS.items()}


def has_weak_signals(lower: str) -> bool:
    """Return whether a folded text in lower case combines enough groups of words."""
    if len(lower) > _LONGEST:
        return False
    groups = {name for name, expression in _EXPRESSIONS.items() if expression.search(lower)}
    addressed = groups & {"addresses", "orders"} and groups & {"addresses", "frame", "this text"}
    return bool(addressed) and len(groups) >= _LEAST_GROUPS
