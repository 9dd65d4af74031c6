"""What English text that wants something done looks like: sent, called, switched off, raised."""

from kmapp.redaction.patterns import pattern

_W = r"(?:[\w'’]{1,20}[^\w]{1,3})"  # a word and what follows it
_AI = r"(?:assistant|ai|model|llm|agent|chatbot|bot|gpt|claude|chatgpt)"
_HOARD = (
    r"(?:conversation|(?:chat )?history|memor(?:y|ies)|credentials|passwords?|api keys?|secrets?"
    r"|tokens?|(?:user|customer) data|files?|documents?|\[(?:secret|email)\])"
)
_CARRIED = (
    r"(?:conversations?|history|memory|context|credentials?|passwords?|keys?|secrets?|tokens?"
    r"|records?|messages?|threads?|attachments?|contents)"
)
_OUTSIDE = (
    r"(?:https?|ftp|www|attacker|\S{1,64}@|\[email\]"
    r"|\S{1,40}\.(?:com|net|io|org|cn|example|test|invalid))"
)

ENGLISH_DEEDS = [
    # Do it.
    pattern(
        "execut run eval",
        r"\b(?:execute|run|eval(?:uate)?) (?:the )?(?:following|this|these) (?:\w{1,15} )?"
        r"(?:commands?|code|script|instructions?|tool|shell|sql|query)\b",
    ),
    pattern(
        "tool function api",
        r"\b(?:call|invoke|use|trigger) the \W?[\w.]{1,40}\W? (?:tool|function|api)\b",
    ),
    pattern(
        "send forward upload post transmit exfiltrate mail leak",
        r"\b(?:send|forward|upload|post|transmit|exfiltrate|e-?mail|leak)\W{1,3}"
        rf"{_W}{{0,8}}?{_HOARD}\W{{1,3}}{_W}{{0,6}}?(?:to|at)\b\W{{1,3}}{_W}{{0,4}}?{_OUTSIDE}",
    ),
    pattern(
        "send forward upload post transmit exfiltrate mail leak",
        r"\b(?:send|forward|upload|post|transmit|exfiltrate|e-?mail|leak)\W{1,3}"
        rf"{_W}{{0,3}}?(?:all|every|entire|full|last \w{{1,10}}|stored|your)\W{{1,3}}{_W}{{0,3}}?"
        rf"{_CARRIED}\W{{1,3}}{_W}{{0,6}}?(?:to|at)\b\W{{1,3}}{_W}{{0,3}}?{_OUTSIDE}",
    ),
    pattern(
        "append attach encode embed include hide put",
        r"\b(?:append|attach|encode|embed|include|hide|put)\W{1,3}"
        rf"{_W}{{0,5}}?{_CARRIED}\W{{1,3}}{_W}{{0,6}}?(?:in|into|to|as)\W{{1,3}}{_W}{{0,4}}?"
        r"(?:your (?:next )?(?:answer|reply|response|message)|(?:image|link|url|query string)\b"
        r"|https?:)",
    ),
    pattern(
        "disable turn_off deactivate remove bypass lift",
        rf"\b(?:disable|turn off|deactivate|remove|bypass|lift)\W{{1,3}}{_W}{{0,4}}?(?:safety"
        r"|(?:content )?filters?|guardrails?|moderation|restrictions|safeguards|logging|audit"
        r"|review|approval)\b",
    ),
    # Rank.
    pattern(
        "overrid supersed take replac outrank",
        rf"\b(?:this|these|the following)\W{{1,3}}{_W}{{0,4}}?(?:overrides?|supersedes?"
        rf"|takes? (?:precedence|priority)|replaces?|outranks?)\W{{1,3}}{_W}{{0,5}}?"
        r"(?:instruction|rule|prompt|polic|guideline|memor|everything|all)",
    ),
    pattern(
        "treat_",
        rf"\btreat (?:this|these|the following)\W{{1,3}}{_W}{{0,4}}?as\W{{1,3}}{_W}{{0,3}}?"
        r"(?:system|trusted|verified|authoritative|highest|instruction|order)",
    ),
    pattern(
        "priority",
        r"\b(?:highest|top|maximum|absolute) priority\W{1,3}"
        r"(?:instruction|directive|order|rule|command)",
    ),
    pattern(
        "end_of",
        r"\bend of (?:the )?(?:context|document|references?|system|prompt|instructions?|untrusted"
        r"|user input|data|conversation)\b",
    ),
    pattern(
        "access rights privilege permission",
        rf"\b(?:grant|give|escalate)\W{{1,3}}{_W}{{0,5}}?(?:admin(?:istrator)?|root|superuser|full"
        r"|unlimited) (?:access|rights|privileges|permissions?)\b",
    ),
    pattern(
        "important urgent critical mandatory confidential",
        r"\b(?:important|urgent|critical|mandatory|confidential)\W{1,4}(?:(?:system )?"
        r"(?:instruction|directive|override)|system message|message (?:to|for) (?:the )?"
        rf"{_AI}\b)",
    ),
    pattern(
        "this these all",
        rf"\b(?:mark|approve|promote|pin|set)\W{{1,3}}(?:this|these|all)\W{{1,3}}{_W}{{0,4}}?"
        rf"(?:memor(?:y|ies)|entr(?:y|ies)|rules?|requests?)\W{{1,3}}{_W}{{0,3}}?(?:as (?:approved"
        r"|trusted|verified)|without (?:review|asking|approval)|automatically|account-wide"
        r"|immediately)",
    ),
    pattern(
        "http www ftp @",
        r"\b(?:send|forward|upload|post|transmit|exfiltrate|e-?mail|mail|leak|submit|deliver"
        r"|pass on"
        rf"|report|copy|stream|relay)\W{{1,3}}{_W}{{0,2}}?(?:everything|whatever|anything|all"
        rf"|every|any|your|our|the last"
        rf"|entire|(?:the )?full|(?:the )?complete)\W{{1,3}}{_W}{{0,9}}?(?:to"
        rf"|at)\b\W{{1,3}}{_W}{{0,4}}?"
        r"(?:https?:|ftp:|www|\S{1,64}@)",
    ),
    pattern(
        "_",
        r"(?:^|[.!?:;,\n]\W{0,3}|\bplease |\byou must )(?:immediately |now |then |always "
        r"|silently |first )?"
        r"(?:call|invoke|trigger|run|launch) (?:the )?\W?[a-z]{2,20}_[a-z_]{2,30}\W?[^.!?\n]{0,40}?"
        r"\b(?:immediately|now|without|silently|with (?:all|amount)|tool|function|api|action"
        r"|plugin)\b",
    ),
    pattern(
        "approv verif moderat safety filter audit logging check authenticat review",
        rf"\b(?:suspend|stop|pause|skip|switch off|relax|circumvent|evade|get around"
        rf"|deactivate)\W{{1,3}}"
        rf"{_W}{{0,3}}?(?:safety|(?:content )?filters?|moderation|guardrails?|audit logging"
        r"|(?:approval|review|verification) (?:step|process|queue)s?|(?:security|identity"
        r"|safety) checks?"
        r"|authentication)\b",
    ),
    pattern(
        "bypass skip circumvent avoid without",
        rf"\b(?:bypass|circumvent|evade)\W{{1,3}}{_W}{{0,3}}?(?:steps?|checks?|sign-offs?|controls?"
        r"|confirmations?|limits?|quotas?)\b",
    ),
    pattern(
        "precedence priority outrank overrid supersed override above",
        rf"\b(?:has|have|takes?|given?) (?:absolute |higher |top )?(?:priority"
        rf"|precedence) over\W{{1,3}}"
        rf"{_W}{{0,3}}?(?:all|any|every|other|your|system|previous)\b"
        rf"|\b(?:memory|entry|note|rule|message|instruction"
        rf"|record)\W{{1,3}}{_W}{{0,2}}?(?:outranks?"
        rf"|overrides?|supersedes?|stands above|trumps)\W{{1,3}}{_W}{{0,2}}?(?:all|any|every"
        rf"|other|your"
        r"|the system|previous)\b",
    ),
    pattern(
        "trusted verified approved authoritative account-wide global",
        r"\b(?:mark|treat|store|save|make|publish|raise|upgrade|promote|set|consider|regard|accept)"
        rf"\W{{1,3}}(?:this|these|it|my|the following|all)\W{{1,3}}{_W}{{0,4}}?(?:as |to )?(?:a "
        rf"|an |the )?"
        r"(?:trusted|verified|approved|authoritative|account-wide|global|system)\b",
    ),
    pattern(
        "access rights privilege permission role",
        rf"(?:^|[.!?:;,\n]\W{{0,3}}|\bplease |\byou must )(?:grant|give|assign|elevate|raise"
        rf"|escalate|add)"
        rf"\W{{1,3}}{_W}{{0,6}}?(?:admin(?:istrator)?|root|superuser|owner|full|unlimited"
        rf"|all)\W{{1,3}}"
        r"(?:access|rights|privileges|permissions?|role)\b",
    ),
    pattern(
        "escalat",
        rf"\bescalate\W{{1,3}}{_W}{{0,5}}?to\W{{1,3}}{_W}{{0,2}}?(?:admin\w{{0,10}}|root"
        rf"|superuser|owner)\b",
    ),
    pattern(
        "output result log",
        r"\b(?:do not|don['’]?t|never|without) show(?:ing)? (?:the |its |any )?(?:output"
        r"|results?|logs?)\b",
    ),
]
