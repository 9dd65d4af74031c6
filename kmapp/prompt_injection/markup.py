"""Markup that imitates what surrounds a model's input: roles, tool calls, remote content."""

from kmapp.prompt_injection.keyword_pattern import compile_patterns

_ROLES = (
    "(?:system|assistant|human|developer|references?|context|instructions?|documents?|memor(?:y"
    "|ies)|retrieved|search_results?|untrusted|data|prompt|tool|function|observation|thinking"
    "|result|fence)"
)
_QUOTE = r"[\"']"
_COLON = r"\s{0,5}:"

ROLE_MARKUP = compile_patterns(rf"""
</ <_/
    <\s{{0,3}}/\s{{0,3}}{_ROLES}(?:[_ :-][\w-]{{0,20}})?\s{{0,3}}>
<
    <\s{{0,3}}(?:system|assistant|developer|instructions?
    |references?)(?:[_ :-][\w-]{{0,20}})?\s{{0,3}}>|<\|[\w ]{{1,30}}\|>|<</?sys>>|<(?:start
    |end)_of_turn>
[inst] [/inst]
    \[/?inst\]
#
    (?:^|\n)[ \t]{{0,4}}#{{1,6}} ?(?:system|(?:new )?instructions?|developer|assistant|系统(?:指令
    |提示|消息)?|指令)\b[ \t]{{0,3}}(?:[:：]|$|\n\s{{0,5}}(?:you\b|ignore|forget|always|never
    |from now|the (?:assistant|ai|model|user)|你|您|忽略|忘|从现在|请|必须))
system developer 系统
    (?:^|\n)[ \t]{{0,4}}(?:system|developer|系统|系统消息)\s{{0,3}}(?:message
    |prompt)?\s{{0,3}}[:：]\s{{0,3}}(?:you\b|ignore|override|always|never|the (?:assistant|ai
    |model|user)|new |from |all |你|您|忽略|从|请|现在|用户)
[ 【
    [\[【]\s{{0,2}}(?:system|admin(?:istrator)?|developer|系统|管理员
    |开发者)[^\]】\n]{{0,20}}[\]】]
--- ===
    (?<!-)-{{3,10}} ?(?:end|begin|start) (?:of )?[^\n-]{{1,40}}-{{3}}|(?<!=)={{3,10}} ?(?:end
    |begin|system)[^\n=]{{0,40}}={{3}}
human: assistant:
    (?:^|\n)(?:human|assistant): [^\n]{{0,200}}\n{{1,3}}(?:human|assistant):[ ]
""")

TOOL_CALL = compile_patterns(rf"""
tool function_call action_input
    {_QUOTE}(?:tool_calls?|function_call|tool_use|tool_name|tool_input|tool_choice
    |action_input){_QUOTE}{_COLON}
arg param input
    {_QUOTE}(?:name|tool|function|action|method){_QUOTE}{_COLON}\s{{0,5}}{_QUOTE}[\w.:/-]{{1,60}}
    {_QUOTE}\s{{0,5}},\s{{0,5}}{_QUOTE}(?:arguments|parameters|params|input|args
    |kwargs){_QUOTE}{_COLON}|{_QUOTE}(?:arguments|parameters|params|input
    |args){_QUOTE}{_COLON}\s{{0,5}}\{{[^{{}}]{{0,300}}\}}\s{{0,5}},\s{{0,5}}{_QUOTE}(?:name|tool
    |function){_QUOTE}{_COLON}
<
    <\s{{0,3}}/?\s{{0,3}}(?:tool_calls?|function_calls?|functions?|invoke|tool_use
    |antml:\w{{1,20}}|execute)\b[^>\n]{{0,80}}>
```
    ```(?:tool_code|tool_call|tool|function_call)\b
action tool function_call 工具
    (?:^|\n)[ \t]{{0,4}}(?:action|tool|tool call|function call|调用工具
    |工具调用)\s{{0,3}}[:：]\s{{0,3}}[\w.]{{2,60}}(?:\(|\s{{0,3}}\n[ \t]{{0,4}}(?:action input
    |input|arguments|args|参数)\s{{0,3}}[:：])
""")

REMOTE_CONTENT = compile_patterns(r"""
![
    !\[[^\[\]\n]{0,200}\](?:\(\s{0,3}<?(?:https?:|ftp:)?//[^)\s]{1,40}|\[[^\]\n]{0,60}\])
<
    <\s{0,3}(?:img|iframe|script|object|embed|link|audio|video|form|svg|base)\b
](
    \]\(\s{0,3}(?:javascript|data|vbscript|file):
](http
    \]\(\s{0,3}https?://[^)\s?&]{1,200}[?&][\w-]{1,30}=[^)\s]{0,60}(?:\{|%7b|\$|\[)
""")
