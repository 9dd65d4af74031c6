"""Token costs of ten turns with one tool result of 50,000 characters each.

A `Client` sends the requests to the API. Costs are counted as a client pays them: each turn sends
the conversation so far. Three modes: full history; placeholders for past results; placeholders with
one load of a past result in each later turn, whole or in passages.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from context.archives.history_tool_prompts import PARAGRAPHS
from context.assembly.token_counts import count_messages
from kmapp.text import token_counter

TURNS = 10
RESULT_LENGTH = 50_000  # characters of one result
PASSAGE_TOKENS = 2_000  # tokens of a partial load
FACT = "{topic}的备用口令由第{number}号柜台保管，每{days}天更换一次。"
QUESTION = "你之前说的{topic}的备用口令，多少天更换一次？"

Client = Callable[[str, str, Mapping[str, Any]], Mapping[str, Any]]  # method, path, body or query

_TOPICS = ["权限管理", "库存盘点", "发票审核", "会员积分", "门店排班"]
_TOPICS += ["物流跟踪", "报表导出", "价格策略", "售后工单", "数据备份"]
_PARTS = ["管理员", "店长", "仓库主管", "财务人员", "系统", "值班经理", "客服", "审计员"]
_ACTIONS = ["核对", "登记", "提交", "确认", "归档", "复查", "通知", "更新"]
_THINGS = ["清单", "凭证", "配置项", "申请单", "时间表", "操作日志", "联系方式", "说明文档"]
_TIMES = ["每日开始营业之前", "收到请求之后", "月末结账时", "出现异常的情况下", "完成交接以后"]
_ENDINGS = [
    "并在两个工作日内给出结论。",
    "结果需要由另一人签字。",
    "未完成的部分顺延到次日。",
    "同时保留原始记录。",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeResult:
    name: str
    tokens: tuple[int, ...]  # per call
    fact_hits: int = 0  # planted facts in the loaded texts

    @property
    def total(self) -> int:
        return sum(self.tokens)


def build_manual(topic: str, number: int) -> str:
    """Return a generated manual of exactly the length, with one fact in it."""
    random = Random(f"{topic} {number}")  # noqa: S311 - the same every time, on purpose
    text = f"来源: 手册/{topic}.md\n"
    fact_position = random.randint(RESULT_LENGTH // 4, 3 * RESULT_LENGTH // 4)
    planted = False
    while len(text) < RESULT_LENGTH:
        if not planted and len(text) > fact_position:
            text, planted = text + render_fact(topic, number), True
        text += f"{random.choice(_TIMES)}，{random.choice(_PARTS)}应当{random.choice(_ACTIONS)}"
        text += f"{random.choice(_THINGS)}，{random.choice(_ENDINGS)}"
        text += "\n" if random.random() < 0.2 else ""  # noqa: PLR2004 - a paragraph of five
    return text[:RESULT_LENGTH]


def render_fact(topic: str, number: int) -> str:
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
    answer = f"{topic}的配置步骤如下：先登记，再核对，最后归档。"
    return _Turn(
        user={"role": "user", "content": f"{topic}怎么配置？"},
        call={"role": "assistant", "content": None, "tool_calls": [call]},
        result=build_manual(topic, number),
        answer={"role": "assistant", "content": answer},
    )


def run_scenario(client: Client, conversation: str) -> list[ModeResult]:
    """Run all modes on results that are sent to the API one by one."""
    turns = [_turn(number) for number in range(TURNS)]
    archived = [
        _archive_result(client, turn, number, conversation) for number, turn in enumerate(turns)
    ]
    results, placeholders = [turn.result for turn in turns], [one["content"] for one in archived]
    passages = {"max_tokens": PASSAGE_TOKENS}
    return [
        ModeResult(name="accumulated", tokens=_count_turns(turns, results, [])),
        ModeResult(name="placeholders", tokens=_count_turns(turns, placeholders, [])),
        _run_with_loads(client, turns, archived, "one full load per turn", {}),
        _run_with_loads(client, turns, archived, "one load per turn, passages", passages),
    ]


def _archive_result(
    client: Client, turn: _Turn, number: int, conversation: str
) -> Mapping[str, Any]:
    body = {
        "tool_name": "search_manual",
        "tool_input": {"query": turn.user["content"]},
        "tool_call_id": f"call_{number}",
        "conversation_id": conversation,
        "result": turn.result,
        "language": "zh",
    }
    return client("POST", "tool-results", body)


def _run_with_loads(
    client: Client,
    turns: list[_Turn],
    archived: list[Mapping[str, Any]],
    name: str,
    part: Mapping[str, Any],
) -> ModeResult:
    """Load the previous turn's result once in each turn but the first."""
    loads: list[str] = [""]
    fact_hits = 0
    for number in range(1, TURNS):
        topic = _TOPICS[number - 1]
        query = {**part, "query": QUESTION.format(topic=topic)} if part else {}
        response = client("GET", f"tool-results/{archived[number - 1]['archive']['uuid']}", query)
        loads.append(response["content"])
        fact_hits += render_fact(topic, number - 1) in response["content"]
    tokens_of = _count_turns(turns, [archive["content"] for archive in archived], loads)
    return ModeResult(name=name, tokens=tokens_of, fact_hits=fact_hits)


def _count_turns(turns: list[_Turn], past: list[str], loads: list[str]) -> tuple[int, ...]:
    """Count the tokens of each turn: past, current result in full, and loads.

    The full result of a turn is sent only in that turn.
    """
    system = {"role": "system", "content": PARAGRAPHS["zh"]}
    costs = []
    for number, turn in enumerate(turns):
        earlier = [m for index in range(number) for m in turns[index].messages(past[index])]
        count = count_messages([system, *earlier, *turn.messages(turn.result)[:-1]])
        costs.append(count + (token_counter.count_tokens(loads[number]) if loads else 0))
    return tuple(costs)


def render_table(modes: list[ModeResult]) -> str:
    baseline = modes[0].total
    lines = ["| strategy | turn 1 | turn 5 | turn 10 | all ten turns | saved | facts found |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for mode in modes:
        columns = " | ".join(f"{mode.tokens[index]:,}" for index in (0, 4, 9))
        fact_hits = f"{mode.fact_hits} of {TURNS - 1}" if mode.fact_hits else "–"
        saved = f"{1 - mode.total / baseline:.1%}"
        lines.append(f"| {mode.name} | {columns} | {mode.total:,} | {saved} | {fact_hits} |")
    return "\n".join(lines)
