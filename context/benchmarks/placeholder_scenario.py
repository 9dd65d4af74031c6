"""Ten turns, one tool call each, fifty thousand characters each: what that costs in tokens.

Runs against the API by whatever `Ask` is given, and reckons as a client would: every turn's model
call is sent all that stands in the conversation then. Three ways: everything accumulates; what is
past stands as placeholders; and in each later turn one past result is loaded, whole or in part.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from context.archives.load_tool import PARAGRAPHS
from context.assembly.token_counts import of_messages
from kmapp.text import tokens

TURNS = 10
LENGTH = 50_000  # characters of one result
PASSAGES = 2_000  # tokens of a partial load
FACT = "{topic}的备用口令由第{number}号柜台保管，每{days}天更换一次。"
QUESTION = "你之前说的{topic}的备用口令，多少天更换一次？"

Ask = Callable[[str, str, Mapping[str, Any]], Mapping[str, Any]]  # method, path, body or query

_TOPICS = ["权限管理", "库存盘点", "发票审核", "会员积分", "门店排班"]
_TOPICS += ["物流跟踪", "报表导出", "价格策略", "售后工单", "数据备份"]
_PARTS = ["管理员", "店长", "仓库主管", "财务人员", "系统", "值班经理", "客服", "审计员"]
_DEEDS = ["核对", "登记", "提交", "确认", "归档", "复查", "通知", "更新"]
_THINGS = ["清单", "凭证", "配置项", "申请单", "时间表", "操作日志", "联系方式", "说明文档"]
_WHENS = ["每日开始营业之前", "收到请求之后", "月末结账时", "出现异常的情况下", "完成交接以后"]
_ENDS = [
    "并在两个工作日内给出结论。",
    "结果需要由另一人签字。",
    "未完成的部分顺延到次日。",
    "同时保留原始记录。",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What one way of running the conversation cost."""

    name: str
    tokens: tuple[int, ...]  # of each turn's call
    found: int = 0  # planted facts among what was loaded

    @property
    def total(self) -> int:
        return sum(self.tokens)


def manual(topic: str, number: int) -> str:
    """A made-up manual of exactly the length, with one fact somewhere in it."""
    random = Random(f"{topic} {number}")  # noqa: S311 - the same every time, on purpose
    text = f"来源: 手册/{topic}.md\n"
    where = random.randint(LENGTH // 4, 3 * LENGTH // 4)
    planted = False
    while len(text) < LENGTH:
        if not planted and len(text) > where:
            text, planted = text + fact(topic, number), True
        one = random.choice(_WHENS) + "，" + random.choice(_PARTS) + "应当" + random.choice(_DEEDS)
        text += f"{one}{random.choice(_THINGS)}，{random.choice(_ENDS)}"
        text += "\n" if random.random() < 0.2 else ""  # noqa: PLR2004 - a paragraph of five
    return text[:LENGTH]


def fact(topic: str, number: int) -> str:
    return FACT.format(topic=topic, number=number + 1, days=7 + 3 * number)


@dataclass(frozen=True, slots=True)
class _Turn:
    user: Mapping[str, Any]
    call: Mapping[str, Any]
    result: str
    answer: Mapping[str, Any]

    def messages(self, content: str) -> list[Mapping[str, Any]]:
        call_id = self.call["tool_calls"][0]["id"]
        return [
            self.user,
            self.call,
            {"role": "tool", "tool_call_id": call_id, "content": content},
            self.answer,
        ]


def _turn(number: int) -> _Turn:
    topic = _TOPICS[number]
    function = {"name": "search_manual", "arguments": f'{{"query": "{topic}怎么配置"}}'}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return _Turn(
        user={"role": "user", "content": f"{topic}怎么配置？"},
        call={"role": "assistant", "content": None, "tool_calls": [call]},
        result=manual(topic, number),
        answer={
            "role": "assistant",
            "content": f"{topic}的配置步骤如下：先登记，再核对，最后归档。",
        },
    )


def run(ask: Ask, conversation: str) -> list[Way]:
    """All ways, over results that were sent to the API one by one."""
    turns = [_turn(number) for number in range(TURNS)]
    kept = [_kept(ask, turn, number, conversation) for number, turn in enumerate(turns)]
    return [
        Way(name="accumulated", tokens=_cost(turns, [turn.result for turn in turns], [])),
        Way(name="placeholders", tokens=_cost(turns, [each["content"] for each in kept], [])),
        _loading(ask, turns, kept, "one load a turn, whole", {}),
        _loading(ask, turns, kept, "one load a turn, passages", {"max_tokens": PASSAGES}),
    ]


def _kept(ask: Ask, turn: _Turn, number: int, conversation: str) -> Mapping[str, Any]:
    return ask(
        "POST",
        "tool-results",
        {
            "tool_name": "search_manual",
            "tool_input": {"query": turn.user["content"]},
            "tool_call_id": f"call_{number}",
            "conversation_id": conversation,
            "result": turn.result,
            "language": "zh",
        },
    )


def _loading(
    ask: Ask,
    turns: list[_Turn],
    kept: list[Mapping[str, Any]],
    name: str,
    part: Mapping[str, Any],
) -> Way:
    """In each turn but the first, the result of the turn before is loaded once."""
    loads: list[str] = [""]
    found = 0
    for number in range(1, TURNS):
        topic = _TOPICS[number - 1]
        query = {**part, "query": QUESTION.format(topic=topic)} if part else {}
        answer = ask("GET", f"tool-results/{kept[number - 1]['archive']['uuid']}", query)
        loads.append(answer["content"])
        found += fact(topic, number - 1) in answer["content"]
    tokens_of = _cost(turns, [each["content"] for each in kept], loads)
    return Way(name=name, tokens=tokens_of, found=found)


def _cost(turns: list[_Turn], past: list[str], loads: list[str]) -> tuple[int, ...]:
    """Tokens of each turn's call: the past as it stands, this turn's result whole, what is loaded.

    The whole result of a turn is read once, in that turn.
    """
    system = {"role": "system", "content": PARAGRAPHS["zh"]}
    costs = []
    for number, turn in enumerate(turns):
        before = [m for at in range(number) for m in turns[at].messages(past[at])]
        sent = of_messages([system, *before, *turn.messages(turn.result)[:-1]])
        costs.append(sent + (tokens.count(loads[number]) if loads else 0))
    return tuple(costs)


def table(ways: list[Way]) -> str:
    """As the docs show it."""
    whole = ways[0].total
    lines = ["| way | turn 1 | turn 5 | turn 10 | all ten turns | saved | facts found |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for way in ways:
        shown = " | ".join(f"{way.tokens[at]:,}" for at in (0, 4, 9))
        found = f"{way.found} of {TURNS - 1}" if way.found else "–"
        saved = f"{1 - way.total / whole:.1%}"
        lines.append(f"| {way.name} | {shown} | {way.total:,} | {saved} | {found} |")
    return "\n".join(lines)
