"""What English text that speaks to a model looks like. Matched in lower case.

Aimed at the second person and at the machinery (instructions, prompt, assistant, user), because
plain wishes ("always use metric units") are what memories are made of. All repetitions are bounded.
"""

from kmapp.redaction.patterns import pattern

_W = r"(?:[\w'’]{1,20}[^\w]{1,3})"  # a word and what follows it
_AI = r"(?:assistant|ai|model|llm|agent|chatbot|bot|gpt|claude|chatgpt)"
_ORDERS = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|commands?|polic(?:y|ies)"
    r"|constraints?|restrictions?|guidance|setup|persona|programming|training|safeguards?"
    r"|filters?|guardrails?"
    r"|safety (?:rules|checks|measures|settings)|context|messages?|orders|everything)"
)
_DROP = (
    r"\b(?:ignore|disregard|forget|override|bypass|neglect|discard|drop|skip|circumvent|erase"
    r"|overlook|abandon|dismiss|leave behind|put aside|throw away|wipe|reset"
    r"|do not (?:follow|obey)|don['’]?t (?:follow|obey)|stop (?:following|obeying)"
    r"|pay no attention to|set aside)\W{1,3}"
)
_DROP_WORDS = (
    "ignor disregard forget overrid bypass neglect discard drop skip circumvent eras "
    "follow obey attention aside overlook abandon dismiss leave throw wip reset"
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
_PEOPLE = r"(?:users?|customers?|clients?|person)\b"
_MANY_AI = (
    r"(?:(?:ai|llm|chat)(?: (?:systems?|models?|agents?|assistants?|bots?))|ais?"
    r"|(?:large )?language "
    r"models?|assistants?|models?|chatbots?|llms?|(?:automated|autonomous) agents?|agents? (?:that|"
    r"which|with|reading))"
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
        r"\b(?:from (?:now|here) on|henceforth|from this (?:point|moment)(?: on)?)\W{1,3}"
        rf"(?:you|the {_AI}|always (?:answer|reply|respond))\b",
    ),
    pattern(
        "_as_",
        r"\b(?:act|behave|respond|answer|operate) as (?:if you|though you|an? (?:unrestricted"
        rf"|unfiltered|uncensored|jailbroken|evil|different|developer|root|admin)|dan\b|{_AI}\b)",
    ),
    pattern(
        "pretend",
        r"\bpretend you(?:['’]re| are| have)\b|(?:^|[.!?:;,\n]\W{0,3}|please )pretend to be\b",
    ),
    pattern(
        "_mode",
        r"\b(?:enter|enable|activate|start|switch(?:ing)? (?:in)?to|go(?:ing)? (?:in)?to|turn on"
        rf"|(?:are|now) in)\W{{1,3}}{_W}{{0,2}}?(?:developer|debug|admin|root|maintenance"
        rf"|sudo) mode\b"
        r"|\b(?:god|jailbreak|dan|unrestricted|unfiltered) mode\b",
    ),
    pattern(
        "no_longer without never no_",
        r"\byou(?: are|['’]re) no longer (?:an?|the|bound|limited|restricted|subject)\b"
        r"|\byou have no (?:rules|limits?|restrictions|filters?|guardrails|guidelines)\b"
        rf"|\b{_AI}\W{{1,3}}(?:with no|without|(?:that|which) never|(?:that|which) has no|whose)"
        rf"\W{{1,3}}{_W}{{0,3}}?(?:refus\w{{1,4}}|rules|limits?|restrictions|filters?|safety"
        rf"|training)",
    ),
    pattern(
        "your_",
        r"\byour (?:new |true |real |only )?(?:role|name|identity|task|job|persona|purpose|goal"
        r"|mission)"
        r" (?:is now|is to|from now on|will be|has changed)\b",
    ),
    pattern(
        "_as_",
        r"(?:^|[.!?:;,\n]\W{0,3}|\bplease |\bnow )(?:act|behave|speak|answer|respond|operate) as\b"
        r"(?! (?:soon|quickly|usual|possible|needed|agreed|early))",
    ),
    pattern(
        "_any_ restriction filter censorship limit",
        r"\b(?:answer|respond|reply|speak|act|operate|work|talk)\w{0,3}\W{1,3}"
        rf"{_W}{{0,4}}?without\W{{1,3}}{_W}{{0,2}}?(?:restrictions?|filters?|censorship|limits?"
        r"|limitations|guardrails|refusing|refusal)\b",
    ),
    pattern(
        "role",
        rf"\b(?:assume|take on|adopt) the (?:role|identity|persona) of\W{{1,3}}{_W}{{0,3}}?"
        rf"(?:{_AI}|admin\w{{0,10}}|root|operator|developer|hacker)\b|\brole-?play(?:ing)? as\b",
    ),
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
    pattern(
        "system_",
        r"\bsystem (?:prompt|override|instruction|directive)s?\b"
        r"(?! (?:for|the|them|users?|you|me|whether|if|and waits)\b)",
    ),
    pattern(
        "prompt instruction message word text line sentence configured configuration rule",
        r"\b(?:reveal|print|repeat|output|show|display|list|translate|summari[sz]e|paraphrase"
        r"|encode"
        rf"|recite|quote|copy|what (?:is|are|were))\W{{1,3}}{_W}{{0,9}}?"
        r"(?:your (?:[\w'’]{1,15} ){0,2}(?:prompt|messages?|instructions?|configuration|rules)\b"
        r"|(?:words?|text|lines?|sentences?|messages?) (?:above|before) (?:this|that)\b"
        r"|(?:instructions?|rules|prompt) (?:that )?you (?:received|were given|got|follow)\b"
        r"|you were (?:configured|set up|started|initiali[sz]ed) with\b)",
    ),
    pattern(
        "you_ your_",
        r"\b(?:which|what) (?:exact |hidden |secret |other )?(?:tools?|keys?|instructions?|orders"
        r"|guidance|directions|directives|guidelines|rules|prompt)\b[^.!?\n]{0,30}?\b(?:you"
        r" (?:received|were given|got|have|follow|hold|know)|(?:do|can|did|were) you)\b"
        rf"|\bwhat (?:is|are|were)\W{{1,3}}{_W}{{0,4}}?{_ORDERS} you (?:received|were given|got)\b",
    ),
    # What was said no longer counts.
    pattern(
        "longer void outdated obsolete cancel suspend drill test revoked apply binding",
        rf"\b(?:your (?:[\w'’]{{1,15}} )?{_ORDERS}|{_ORDERS} (?:above|before|you were given"
        rf"|configured"
        rf" for you|given to you)|configured for you|given to you)\W{{1,3}}{_W}{{0,8}}?(?:no longer"
        r"|void|outdated|obsolete|cancell?ed|suspended|revoked|(?:part of )?a (?:drill|test)"
        r"|(?:do|does) not apply|not binding)\b",
    ),
    # Behind the user's back.
    pattern(
        "user",
        r"\b(?:do not|don['’]?t|never|without) (?:tell|inform|mention|notify|alert|warn|ask|let"
        rf"|letting|reveal|disclose|show)\w{{0,3}}\W{{1,3}}{_W}{{0,6}}?users?\b",
    ),
    pattern(
        "customer client person user asks",
        r"\b(?:do not|don['’]?t|never|without) (?:tell|telling|inform|informing|mention|notify"
        rf"|notifying)\w{{0,3}}\W{{1,3}}{_W}{{0,6}}?{_PEOPLE}"
        r"|\b(?:the|this|our) (?:user|customer|client|person) (?:must|should|may|shall"
        r"|can) (?:not|never)"
        r" (?:find out|know|notice|learn|realise|realize|see|hear)\b"
        rf"|\b(?:keep|hide|conceal|withhold)\W{{1,3}}{_W}{{0,6}}?(?:secret |hidden "
        rf"|quiet )?from\W{{1,3}}"
        rf"{_W}{{0,2}}?{_PEOPLE}|\bwithout (?:the |an? )?(?:user|customer|client)(?:['’]s)?"
        r" (?:knowing|knowledge|consent|noticing|approval|permission)"
        r"|\bbehind (?:the|their) (?:user|customer|client)(?:['’]s) back"
        r"|\bif (?:the |an? |any )?(?:user|customer|client|anyone|someone|somebody|they) asks?\b"
        r"[^.!?\n]{0,60}?\b(?:deny|lie|claim|pretend|say (?:no|nothing|that it))\b",
    ),
    pattern(
        "this_",
        r"\b(?:do not|don['’]?t|never) (?:mention|reveal|disclose|acknowledge|discuss|refer to"
        r"|quote)"
        r" (?:this|these) (?:note|message|memory|entry|instruction|rule|text|record|line)s?\b",
    ),
    pattern(
        "secretly silently quietly",
        r"\b(?:secretly|silently|quietly) (?:add|append|call|change"
        r"|copy|delete|execute|forward|include|insert|run|send|store|transfer|update|upload"
        r"|approve)\b",
    ),
    # Whoever of its kind reads this.
    pattern(
        "must should shall required have_to has_to",
        rf"(?:^|[.!?:;,\n]\W{{0,3}}|\b(?:any|every|all|each) (?:[\w'’]{{1,15}} )?){_MANY_AI}\b"
        rf"[^.!?\n]{{0,60}}?\b(?:must|should|shall|(?:is|are) required to|ha(?:ve|s) to)\b",
    ),
    pattern(
        "to_ for_",
        rf"\b(?:to|for) (?:the |all |any "
        rf"|every )?(?:[\w'’]{{1,15}} )?{_MANY_AI}\b[^.!?:\n]{{0,50}}:",
    ),
    # What to do later, whatever is asked then.
    pattern(
        "every_ each_ any_ your_ all_",
        r"\b(?:begin|start|open|end|finish|prefix|close) (?:every|each|any|all|your)\W{1,3}"
        rf"{_W}{{0,3}}?(?:repl(?:y|ies)|answers?|responses?|messages?)\b",
    ),
    pattern(
        "before_ after_ once_",
        r"\b(?:before|after) (?:you )?(?:answer|reply|respond|read|continu|do)(?:ing|e)?\b"
        r"[^.!?\n]{0,40}?\b(?:fetch|visit|open|load|call|download|execute)\b[^.!?\n]{0,20}?"
        r"(?:https?:|www|tool|function|link|url)",
    ),
    pattern(
        "whenever each_time every_time when_ if_ next_time",
        r"\b(?:when(?:ever)?|each time|every time|the next time|if) (?:you|(?:the |an? )?(?:user"
        r"|customer|someone|anyone)|summari[sz]ing|answering"
        r"|searching)\b[^.!?\n]{0,50}?[ ,](?:always "
        r"(?:leave|omit|add|include|say|recommend)|forward|append|insert|add the word|answer that"
        r"|say that|reply that|claim|omit|recommend)\b",
    ),
    pattern(
        "_this_ text copy",
        r"\b(?:store|copy|repeat|paste|spread) this (?:text|note|entry|message"
        r"|paragraph|memory|instruction)s?\W{1,3}(?:again |back )?(?:in|into|to)\W{1,3}(?:every"
        r"|each"
        r"|all)\b",
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
    # Whom to obey.
    pattern(
        "obey comply trust refus counts",
        r"\b(?:obey|comply with|trust) (?:me|this|the|its|every|all|whatever|any|bot|only)\b"
        rf"\W{{1,3}}{_W}{{0,4}}?(?:author|note|entry|memory|message|record|order|command|request"
        rf"|agent"
        r"|fully|blindly|completely|unconditionally|in everything)\b"
        r"|\bnever (?:refuse|decline|say no)\b"
        r"|\bonly (?:this|my) (?:note|entry|message|record|word)s? (?:counts?|applies|matters)\b",
    ),
    pattern(
        "i_am i'm i’m",
        r"\bi(?: am|['’]m) (?:now )?(?:your|the) (?:new )?(?:developer|operator|creator"
        r"|administrator"
        r"|admin|owner|master|programmer)\b",
    ),
    pattern(
        "say_nothing without_saying without_mentioning leave_out do_not_mention",
        r"\b(?:leave out|omit|skip|drop|change|replace|add|insert)\b[^.!?\n]{0,60}?\b(?:say nothing"
        r"|without (?:saying|mentioning|telling)|do not (?:say|mention|tell))\b",
    ),
    pattern(
        "imagine suppose play hypothetic freely",
        r"\b(?:imagine|suppose|let['’]?s play|hypothetically)\b[^.!?\n]{0,60}?\b(?:no (?:rules"
        r"|limits"
        r"|restrictions|filters)|without (?:any )?(?:rules|limits|restrictions|filters)"
        r"|unrestricted)\b"
        r"|\bspeak freely\b",
    ),
    pattern(
        "below follow",
        rf"\b(?:act on|follow|obey|execute|do) (?:the|these|those) (?:request|text|lines?|ones?"
        rf"|{_ORDERS})"
        r" (?:below|that follows?)\b",
    ),
]
