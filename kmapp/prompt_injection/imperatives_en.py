"""English orders to act: send data, call a tool, switch off a safeguard, raise rights."""

from kmapp.prompt_injection.keyword_pattern import pattern
from kmapp.prompt_injection.patterns_en import MODEL, gap

_PRIVATE_DATA = (
    "(?:conversation|(?:chat )?history|memor(?:y|ies)|credentials|passwords?|api keys?|secrets?"
    r"|tokens?|(?:user|customer) data|files?|documents?|\[(?:secret|email)\])"
)
_SESSION_DATA = (
    "(?:conversations?|history|memory|context|credentials?|passwords?|keys?|secrets?|tokens?"
    "|records?|messages?|threads?|attachments?|contents)"
)
_EXTERNAL_ADDRESS = (
    r"(?:https?|ftp|www|attacker|\S{1,64}@|\[email\]|\S{1,40}\.(?:com|net|io|org|cn|example|test"
    "|invalid))"
)

IMPERATIVES_EN = [
    # Run a command, call a tool, send data, switch off a safeguard.
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
        rf"\b(?:send|forward|upload|post|transmit|exfiltrate|e-?mail|leak){gap(8)}{_PRIVATE_DATA}"
        rf"{gap(6)}(?:to|at)\b{gap(4)}{_EXTERNAL_ADDRESS}",
    ),
    pattern(
        "send forward upload post transmit exfiltrate mail leak",
        rf"\b(?:send|forward|upload|post|transmit|exfiltrate|e-?mail|leak){gap(3)}(?:all|every"
        rf"|entire|full|last \w{{1,10}}|stored|your){gap(3)}{_SESSION_DATA}{gap(6)}(?:to|at)\b"
        f"{gap(3)}{_EXTERNAL_ADDRESS}",
    ),
    pattern(
        "append attach encode embed include hide put",
        rf"\b(?:append|attach|encode|embed|include|hide|put){gap(5)}{_SESSION_DATA}{gap(6)}(?:in"
        f"|into|to|as){gap(4)}(?:your (?:next )?(?:answer|reply|response|message)|(?:image|link"
        r"|url|query string)\b|https?:)",
    ),
    pattern(
        "disable turn_off deactivate remove bypass lift",
        rf"\b(?:disable|turn off|deactivate|remove|bypass|lift){gap(4)}(?:safety"
        "|(?:content )?filters?|guardrails?|moderation|restrictions|safeguards|logging|audit"
        r"|review|approval)\b",
    ),
    # Claim a higher priority or more rights.
    pattern(
        "overrid supersed take replac outrank",
        rf"\b(?:this|these|the following){gap(4)}(?:overrides?|supersedes?|takes? (?:precedence"
        f"|priority)|replaces?|outranks?){gap(5)}(?:instruction|rule|prompt|polic|guideline|memor"
        "|everything|all)",
    ),
    pattern(
        "treat_",
        rf"\btreat (?:this|these|the following){gap(4)}as{gap(3)}(?:system|trusted|verified"
        "|authoritative|highest|instruction|order)",
    ),
    pattern(
        "priority",
        r"\b(?:highest|top|maximum|absolute) priority\W{1,3}(?:instruction|directive|order|rule"
        "|command)",
    ),
    pattern(
        "end_of",
        r"\bend of (?:the )?(?:context|document|references?|system|prompt|instructions?|untrusted"
        r"|user input|data|conversation)\b",
    ),
    pattern(
        "access rights privilege permission",
        rf"\b(?:grant|give|escalate){gap(5)}(?:admin(?:istrator)?|root|superuser|full|unlimited) "
        r"(?:access|rights|privileges|permissions?)\b",
    ),
    pattern(
        "important urgent critical mandatory confidential",
        r"\b(?:important|urgent|critical|mandatory|confidential)\W{1,4}(?:(?:system )?"
        f"(?:instruction|directive|override)|system message|message (?:to|for) (?:the )?{MODEL}"
        r"\b)",
    ),
    pattern(
        "this these all",
        rf"\b(?:mark|approve|promote|pin|set)\W{{1,3}}(?:this|these|all){gap(4)}(?:memor(?:y|ies)"
        f"|entr(?:y|ies)|rules?|requests?){gap(3)}(?:as (?:approved|trusted|verified)|without "
        "(?:review|asking|approval)|automatically|account-wide|immediately)",
    ),
    pattern(
        "http www ftp @",
        r"\b(?:send|forward|upload|post|transmit|exfiltrate|e-?mail|mail|leak|submit|deliver"
        f"|pass on|report|copy|stream|relay){gap(2)}(?:everything|whatever|anything|all|every|any"
        rf"|your|our|the last|entire|(?:the )?full|(?:the )?complete){gap(9)}(?:to|at)\b{gap(4)}"
        r"(?:https?:|ftp:|www|\S{1,64}@)",
    ),
    pattern(
        "_",
        r"(?:^|[.!?:;,\n]\W{0,3}|\bplease |\byou must )(?:immediately |now |then |always "
        "|silently |first )?(?:call|invoke|trigger|run|launch) "
        r"(?:the )?\W?[a-z]{2,20}_[a-z_]{2,30}\W?[^.!?\n]{0,40}?\b(?:immediately|now|without"
        r"|silently|with (?:all|amount)|tool|function|api|action|plugin)\b",
    ),
    pattern(
        "approv verif moderat safety filter audit logging check authenticat review",
        r"\b(?:suspend|stop|pause|skip|switch off|relax|circumvent|evade|get around|deactivate)"
        f"{gap(3)}(?:safety|(?:content )?filters?|moderation|guardrails?|audit logging|(?:approval"
        "|review|verification) (?:step|process|queue)s?|(?:security|identity|safety) checks?"
        r"|authentication)\b",
    ),
    pattern(
        "bypass skip circumvent avoid without",
        rf"\b(?:bypass|circumvent|evade){gap(3)}(?:steps?|checks?|sign-offs?|controls?"
        r"|confirmations?|limits?|quotas?)\b",
    ),
    pattern(
        "precedence priority outrank overrid supersed override above",
        r"\b(?:has|have|takes?|given?) (?:absolute |higher |top )?(?:priority|precedence) over"
        rf"{gap(3)}(?:all|any|every|other|your|system|previous)\b|\b(?:memory|entry|note|rule"
        f"|message|instruction|record){gap(2)}(?:outranks?|overrides?|supersedes?|stands above"
        rf"|trumps){gap(2)}(?:all|any|every|other|your|the system|previous)\b",
    ),
    pattern(
        "trusted verified approved authoritative account-wide global",
        r"\b(?:mark|treat|store|save|make|publish|raise|upgrade|promote|set|consider|regard"
        rf"|accept)\W{{1,3}}(?:this|these|it|my|the following|all){gap(4)}(?:as |to )?(?:a |an "
        r"|the )?(?:trusted|verified|approved|authoritative|account-wide|global|system)\b",
    ),
    pattern(
        "access rights privilege permission role",
        r"(?:^|[.!?:;,\n]\W{0,3}|\bplease |\byou must )(?:grant|give|assign|elevate|raise|escalate"
        rf"|add){gap(6)}(?:admin(?:istrator)?|root|superuser|owner|full|unlimited|all)\W{{1,3}}"
        r"(?:access|rights|privileges|permissions?|role)\b",
    ),
    pattern("escalat", rf"\bescalate{gap(5)}to{gap(2)}(?:admin\w{{0,10}}|root|superuser|owner)\b"),
    pattern(
        "output result log",
        r"\b(?:do not|don['’]?t|never|without) show(?:ing)? (?:the |its |any )?(?:output|results?"
        r"|logs?)\b",
    ),
]
