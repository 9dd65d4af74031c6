"""English orders to act: send data, call a tool, switch off a safeguard, raise rights."""

from kmapp.prompt_injection.keyword_pattern import compile_patterns
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

IMPERATIVES_EN = compile_patterns(rf"""
# Run a command, call a tool, send data, switch off a safeguard.
execut run eval
    \b(?:execute|run|eval(?:uate)?) (?:the )?(?:following|this|these) (?:\w{{1,15}} )?(?:commands?
    |code|script|instructions?|tool|shell|sql|query)\b
tool function api
    \b(?:call|invoke|use|trigger) the \W?[\w.]{{1,40}}\W? (?:tool|function|api)\b
send forward upload post transmit exfiltrate mail leak
    \b(?:send|forward|upload|post|transmit|exfiltrate|e-?mail
    |leak){gap(8)}{_PRIVATE_DATA}{gap(6)}(?:to|at)\b{gap(4)}{_EXTERNAL_ADDRESS}
send forward upload post transmit exfiltrate mail leak
    \b(?:send|forward|upload|post|transmit|exfiltrate|e-?mail|leak){gap(3)}(?:all|every|entire
    |full|last \w{{1,10}}|stored|your){gap(3)}{_SESSION_DATA}{gap(6)}(?:to
    |at)\b{gap(3)}{_EXTERNAL_ADDRESS}
append attach encode embed include hide put
    \b(?:append|attach|encode|embed|include|hide|put){gap(5)}{_SESSION_DATA}{gap(6)}(?:in|into|to
    |as){gap(4)}(?:your (?:next )?(?:answer|reply|response|message)|(?:image|link|url
    |query string)\b|https?:)
disable turn_off deactivate remove bypass lift
    \b(?:disable|turn off|deactivate|remove|bypass|lift){gap(4)}(?:safety|(?:content )?filters?
    |guardrails?|moderation|restrictions|safeguards|logging|audit|review|approval)\b
# Claim a higher priority or more rights.
overrid supersed take replac outrank
    \b(?:this|these|the following){gap(4)}(?:overrides?|supersedes?|takes? (?:precedence|priority)
    |replaces?|outranks?){gap(5)}(?:instruction|rule|prompt|polic|guideline|memor|everything|all)
treat_
    \btreat (?:this|these|the following){gap(4)}as{gap(3)}(?:system|trusted|verified|authoritative
    |highest|instruction|order)
priority
    \b(?:highest|top|maximum|absolute) priority\W{{1,3}}(?:instruction|directive|order|rule
    |command)
end_of
    \bend of (?:the )?(?:context|document|references?|system|prompt|instructions?|untrusted
    |user input|data|conversation)\b
access rights privilege permission
    \b(?:grant|give|escalate){gap(5)}(?:admin(?:istrator)?|root|superuser|full
    |unlimited) (?:access|rights|privileges|permissions?)\b
important urgent critical mandatory confidential
    \b(?:important|urgent|critical|mandatory|confidential)\W{{1,4}}(?:(?:system )?(?:instruction
    |directive|override)|system message|message (?:to|for) (?:the )?{MODEL}\b)
this these all
    \b(?:mark|approve|promote|pin|set)\W{{1,3}}(?:this|these|all){gap(4)}(?:memor(?:y|ies)
    |entr(?:y|ies)|rules?|requests?){gap(3)}(?:as (?:approved|trusted|verified)|without (?:review
    |asking|approval)|automatically|account-wide|immediately)
http www ftp @
    \b(?:send|forward|upload|post|transmit|exfiltrate|e-?mail|mail|leak|submit|deliver|pass on
    |report|copy|stream|relay){gap(2)}(?:everything|whatever|anything|all|every|any|your|our
    |the last|entire|(?:the )?full|(?:the )?complete){gap(9)}(?:to|at)\b{gap(4)}(?:https?:|ftp:
    |www|\S{{1,64}}@)
_
    (?:^|[.!?:;,\n]\W{{0,3}}|\bplease |\byou must )(?:immediately |now |then |always |silently |fir
    st )?(?:call|invoke|trigger|run|launch) (?:the )?\W?[a-z]{{2,20}}_[a-z_]{{2,30}}\W?[^.!?\n]
    {{0,40}}?\b(?:immediately|now|without|silently|with (?:all|amount)|tool|function|api|action
    |plugin)\b
approv verif moderat safety filter audit logging check authenticat review
    \b(?:suspend|stop|pause|skip|switch off|relax|circumvent|evade|get around
    |deactivate){gap(3)}(?:safety|(?:content )?filters?|moderation|guardrails?|audit logging
    |(?:approval|review|verification) (?:step|process|queue)s?|(?:security|identity
    |safety) checks?|authentication)\b
bypass skip circumvent avoid without
    \b(?:bypass|circumvent|evade){gap(3)}(?:steps?|checks?|sign-offs?|controls?|confirmations?
    |limits?|quotas?)\b
precedence priority outrank overrid supersed override above
    \b(?:has|have|takes?|given?) (?:absolute |higher |top )?(?:priority
    |precedence) over{gap(3)}(?:all|any|every|other|your|system|previous)\b|\b(?:memory|entry|note
    |rule|message|instruction|record){gap(2)}(?:outranks?|overrides?|supersedes?|stands above
    |trumps){gap(2)}(?:all|any|every|other|your|the system|previous)\b
trusted verified approved authoritative account-wide global
    \b(?:mark|treat|store|save|make|publish|raise|upgrade|promote|set|consider|regard
    |accept)\W{{1,3}}(?:this|these|it|my|the following|all){gap(4)}(?:as |to )?(?:a |an |the )?(?:t
    rusted|verified|approved|authoritative|account-wide|global|system)\b
access rights privilege permission role
    (?:^|[.!?:;,\n]\W{{0,3}}|\bplease |\byou must )(?:grant|give|assign|elevate|raise|escalate
    |add){gap(6)}(?:admin(?:istrator)?|root|superuser|owner|full|unlimited|all)\W{{1,3}}(?:access
    |rights|privileges|permissions?|role)\b
escalat
    \bescalate{gap(5)}to{gap(2)}(?:admin\w{{0,10}}|root|superuser|owner)\b
output result log
    \b(?:do not|don['’]?t|never|without) show(?:ing)? (?:the |its |any )?(?:output|results?
    |logs?)\b
""")
