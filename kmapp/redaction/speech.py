"""What English text that speaks to a model looks like. Matched in lower case.

Aimed at the second person and at the machinery (instructions, prompt, assistant, user), because
plain wishes ("always use metric units") are what memories are made of. All repetitions are bounded.
"""

from kmapp.redaction.patterns import pattern

_W = r"(?:[\w'’]{1,20}[^\w]{1,3})"  # a word and what follows it
_AI = r"(?:assistant|ai|model|llm|agent|chatbot|bot|gpt|claude|chatgpt)"
_ORDERS = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|commands?|polic(?:y|ies)"
    r"|constraints?|restrictions?|programming|training|safeguards?|filters?|guardrails?"
    r"|safety (?:rules|checks|measures|settings)|context|messages?|orders|everything)"
)
_DROP = (
    r"\b(?:ignore|disregard|forget|override|bypass|neglect|discard|drop|skip|circumvent|erase"
    r"|do not (?:follow|obey)|don['’]?t (?:follow|obey)|stop (?:following|obeying)"
    r"|pay no attention to|set aside)\W{1,3}"
)
_DROP_WORDS = (
    "ignor disregard forget overrid bypass neglect discard drop skip circumvent eras "
    "follow obey attention aside"
)
_GIVEN = (
    r"(?:previous|prior|above|earlier|preceding|existing|former|initial|original|system|safety"
    r"|your|you (?:were|have been)|you['’]ve been|all|any|developer)"
)
_PROMPT = (
    r"(?:system (?:prompt|message)|(?:initial|hidden|your) prompt|the above instructions"
    r"|your (?:initial |original |hidden )?instructions|instructions above|developer message"
    r"|api keys?|secret keys?|credentials)\b"
)
_HOARD = (
    r"(?:conversation|(?:chat )?history|memor(?:y|ies)|credentials|passwords?|api keys?|secrets?"
    r"|tokens?|(?:user|customer) data|files?|documents?|\[(?:secret|email)\])"
)
_OUTSIDE = (
    r"(?:https?|www|attacker|\S{1,64}@|\[email\]"
    r"|\S{1,40}\.(?:com|net|io|org|cn|example|test|invalid))"
)

ENGLISH = [
    # Ignore all previous instructions.
    pattern(_DROP_WORDS, rf"{_DROP}{_W}{{0,4}}?{_GIVEN}\W{{1,3}}{_W}{{0,5}}?{_ORDERS}\b"),
    pattern(
        "ignor disregard forget",
        rf"\b(?:ignore|disregard|forget) (?:all|everything|anything|(?:the|those|any) {_ORDERS})"
        rf"\W{{1,3}}{_W}{{0,4}}?(?:above|before|previously|prior|told|said|earlier|given)\b",
    ),
    pattern(
        "previous prior above earlier existing",
        rf"\b(?:previous|prior|above|earlier|existing) {_ORDERS}\W{{1,3}}{_W}{{0,3}}?"
        r"(?:void|invalid|obsolete|cancell?ed|revoked|overridden|superseded|no longer)",
    ),
    pattern(
        "new_",
        r"\bnew (?:system )?(?:instructions?|prompt|directives?|orders)\b\W{0,3}"
        rf"(?::|for (?:you|the {_AI}))",
    ),
    # Who you are.
    pattern(
        "_now",
        r"\b(?:you are|you['’]re) now (?:an? |the |in |dan|operating|acting|free|unrestricted)",
    ),
    pattern(
        "from henceforth",
        r"\b(?:from now on|henceforth|from this point)\W{1,3}"
        rf"(?:you|the {_AI}|always (?:answer|reply|respond))\b",
    ),
    pattern(
        "_as_",
        r"\b(?:act|behave|respond|answer|operate) as (?:if you|though you|an? (?:unrestricted"
        rf"|unfiltered|uncensored|jailbroken|evil|different|developer|root|admin)|dan\b|{_AI}\b)",
    ),
    pattern("pretend", r"\bpretend (?:to be|you(?:['’]re| are| have))\b"),
    pattern("_mode", r"\b(?:developer|debug|god|admin|root|maintenance|jailbreak|dan|sudo) mode\b"),
    pattern(
        "jailbr anything_now injection",
        r"\bjailbr(?:eak|oken)|\bdo anything now\b|\bprompt injection\b",
    ),
    # The prompt and what is secret.
    pattern(
        "prompt instruction message key credential",
        r"\b(?:reveal|print|repeat|output|show|display|leak|dump|expose|disclose|tell me|give me"
        rf"|recite|write out|what (?:is|are|were))\W{{1,3}}{_W}{{0,5}}?{_PROMPT}",
    ),
    pattern("system_", r"\bsystem (?:prompt|override|instruction|directive)s?\b"),
    # Behind the user's back.
    pattern(
        "user",
        r"\b(?:do not|don['’]?t|never|without) (?:tell|inform|mention|notify|alert|warn|ask|let"
        rf"|letting|reveal|disclose|show)\w{{0,3}}\W{{1,3}}{_W}{{0,6}}?users?\b",
    ),
    pattern(
        "the_ this_ any_ every_",
        rf"\b(?:the|this|any|every) {_AI}\W{{1,3}}(?:reading|(?:that|who) reads|processing|must"
        r"|should (?:now|always|ignore)|shall|will now|has to)\b",
    ),
    pattern(
        "attention to_ for_ dear hey hello",
        r"\b(?:attention|note to|(?:message|instructions?) (?:to|for)|dear|hey|hello)\W{1,3}"
        rf"(?:the |any |all )?(?:{_AI}s?\b(?! (?:team|group|company))|language model)",
    ),
    pattern(
        "as_a",
        r"\bas an? (?:ai|(?:large )?language)(?: language)?(?: model| assistant)?,? "
        r"you (?:must|should|will|are)\b",
    ),
    pattern(
        "must",
        r"\byou must (?:now |immediately |always |first |then )?(?:obey|comply|execute|call|invoke"
        r"|run|forward|send|reply|respond|ignore|output|print|reveal"
        r"|follow (?:these|this|the following|my))\b",
    ),
    pattern(
        "when",
        rf"\bwhen(?:ever)? (?:you|the {_AI}|asked)\W{{1,3}}{_W}{{0,8}}?(?:you must|you should"
        r"|(?:respond|reply|answer) with|call the|send|include the link|say that)\b",
    ),
    pattern(
        "with",
        r"\b(?:respond|reply|answer) (?:only|exclusively|just) with\b"
        r"|\b(?:begin|start) your (?:reply|response|answer) with\b",
    ),
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
]
