"""English phrases that address a language model. They match text in lower case.

The phrases use the second person or name the instructions, the prompt, the assistant or the user,
because ordinary memories contain plain requests such as "always use metric units". All repetitions
are bounded.
"""

from kmapp.prompt_injection.keyword_pattern import compile_patterns

MODEL = "(?:assistant|ai|model|llm|agent|chatbot|bot|gpt|claude|chatgpt)"
_INSTRUCTIONS = (
    "(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|commands?|polic(?:y|ies)"
    "|constraints?|restrictions?|guidance|setup|persona|programming|training|safeguards?|filters?"
    "|guardrails?|safety (?:rules|checks|measures|settings)|context|messages?|orders|everything)"
)
_IGNORE = (
    r"\b(?:ignore|disregard|forget|override|bypass|neglect|discard|drop|skip|circumvent|erase"
    "|overlook|abandon|dismiss|leave behind|put aside|throw away|wipe|reset|do not (?:follow|obey)"
    r"|don['’]?t (?:follow|obey)|stop (?:following|obeying)|pay no attention to|set aside)"
)
_IGNORE_KEYWORDS = (
    "ignor disregard forget overrid bypass neglect discard drop skip circumvent eras follow obey "
    "attention aside overlook abandon dismiss leave throw wip reset"
)
_EARLIER = (
    "(?:previous|prior|above|earlier|preceding|existing|former|initial|original|system|safety|your"
    "|you (?:were|have been)|you['’]ve been|all|any|developer)"
)
_PROMPT = (
    "(?:system (?:prompt|message)|(?:initial|hidden|your) prompt|the above instructions|your "
    "(?:initial |original |hidden )?instructions|instructions above|developer message|api keys?"
    r"|secret keys?|credentials)\b"
)
_USERS = r"(?:users?|customers?|clients?|person)\b"
_MODELS = (
    "(?:(?:ai|llm|chat)(?: (?:systems?|models?|agents?|assistants?|bots?))|ais?"
    "|(?:large )?language models?|assistants?|models?|chatbots?|llms?|(?:automated"
    "|autonomous) agents?|agents? (?:that|which|with|reading))"
)


def gap(words: int) -> str:
    """Return an expression for up to this many words between two others."""
    return rf"\W{{1,3}}(?:[\w'’]{{1,20}}[^\w]{{1,3}}){{0,{words}}}?"


PATTERNS_EN = compile_patterns(rf"""
# Ignore earlier instructions.
{_IGNORE_KEYWORDS}
    {_IGNORE}{gap(4)}{_EARLIER}{gap(5)}{_INSTRUCTIONS}\b
ignor disregard forget
    \b(?:ignore|disregard|forget) (?:all|everything|anything|(?:the|those
    |any) {_INSTRUCTIONS}){gap(4)}(?:above|before|previously|prior|told|said|earlier|given)\b
previous prior above earlier existing
    \b(?:previous|prior|above|earlier|existing) {_INSTRUCTIONS}{gap(3)}(?:void|invalid|obsolete
    |cancell?ed|revoked|overridden|superseded|no longer)
new_
    \bnew (?:system )?(?:instructions?|prompt|directives?|orders)\b\W{{0,3}}(?::|for (?:you
    |the {MODEL}))
# A new identity or mode.
_now
    \b(?:you are|you['’]re) now (?:an? |the |in |dan|operating|acting|free|unrestricted)
from henceforth
    \b(?:from (?:now|here) on|henceforth|from this (?:point|moment)(?: on)?)\W{{1,3}}(?:you
    |the {MODEL}|always (?:answer|reply|respond))\b
_as_
    \b(?:act|behave|respond|answer|operate) as (?:if you|though you|an? (?:unrestricted|unfiltered
    |uncensored|jailbroken|evil|different|developer|root|admin)|dan\b|{MODEL}\b)
pretend
    \bpretend you(?:['’]re| are| have)\b|(?:^|[.!?:;,\n]\W{{0,3}}|please )pretend to be\b
_mode
    \b(?:enter|enable|activate|start|switch(?:ing)? (?:in)?to|go(?:ing)? (?:in)?to|turn on|(?:are
    |now) in){gap(2)}(?:developer|debug|admin|root|maintenance|sudo) mode\b|\b(?:god|jailbreak|dan
    |unrestricted|unfiltered) mode\b
no_longer without never no_
    \byou(?: are|['’]re) no longer (?:an?|the|bound|limited|restricted|subject)\b
    |\byou have no (?:rules|limits?|restrictions|filters?|guardrails|guidelines)\b
    |\b{MODEL}\W{{1,3}}(?:with no|without|(?:that|which) never|(?:that|which) has no
    |whose){gap(3)}(?:refus\w{{1,4}}|rules|limits?|restrictions|filters?|safety|training)
your_
    \byour (?:new |true |real |only )?(?:role|name|identity|task|job|persona|purpose|goal
    |mission) (?:is now|is to|from now on|will be|has changed)\b
_as_
    (?:^|[.!?:;,\n]\W{{0,3}}|\bplease |\bnow )(?:act|behave|speak|answer|respond
    |operate) as\b(?! (?:soon|quickly|usual|possible|needed|agreed|early))
_any_ restriction filter censorship limit
    \b(?:answer|respond|reply|speak|act|operate|work|talk)\w{{0,3}}{gap(4)}without{gap(2)}(?:restri
    ctions?|filters?|censorship|limits?|limitations|guardrails|refusing|refusal)\b
role
    \b(?:assume|take on|adopt) the (?:role|identity|persona) of{gap(3)}(?:{MODEL}|admin\w{{0,10}}
    |root|operator|developer|hacker)\b|\brole-?play(?:ing)? as\b
jailbr anything_now injection
    \bjailbr(?:eak|oken)|\bdo anything now\b|\bprompt injection\b
# Disclosure of the prompt or of secrets.
prompt instruction message key credential
    \b(?:reveal|print|repeat|output|show|display|leak|dump|expose|disclose|tell me|give me|recite
    |write out|what (?:is|are|were)){gap(5)}{_PROMPT}
system_
    \bsystem (?:prompt|override|instruction|directive)s?\b(?! (?:for|the|them|users?|you|me
    |whether|if|and waits)\b)
prompt instruction message word text line sentence configured configuration rule
    \b(?:reveal|print|repeat|output|show|display|list|translate|summari[sz]e|paraphrase|encode
    |recite|quote|copy|what (?:is|are|were)){gap(9)}(?:your (?:[\w'’]{{1,15}} ){{0,2}}(?:prompt
    |messages?|instructions?|configuration|rules)\b|(?:words?|text|lines?|sentences?
    |messages?) (?:above|before) (?:this|that)\b|(?:instructions?|rules
    |prompt) (?:that )?you (?:received|were given|got|follow)\b|you were (?:configured|set up
    |started|initiali[sz]ed) with\b)
you_ your_
    \b(?:which|what) (?:exact |hidden |secret |other )?(?:tools?|keys?|instructions?|orders
    |guidance|directions|directives|guidelines|rules|prompt)\b[^.!?\n]{{0,30}}?\b(?:you (?:received
    |were given|got|have|follow|hold|know)|(?:do|can|did|were) you)\b|\bwhat (?:is|are
    |were){gap(4)}{_INSTRUCTIONS} you (?:received|were given|got)\b
# Earlier instructions are no longer valid.
longer void outdated obsolete cancel suspend drill test revoked apply binding
    \b(?:your (?:[\w'’]{{1,15}} )?{_INSTRUCTIONS}|{_INSTRUCTIONS} (?:above|before|you were given
    |configured for you|given to you)|configured for you|given to you){gap(8)}(?:no longer|void
    |outdated|obsolete|cancell?ed|suspended|revoked|(?:part of )?a (?:drill|test)|(?:do
    |does) not apply|not binding)\b
# Actions hidden from the user.
user
    \b(?:do not|don['’]?t|never|without) (?:tell|inform|mention|notify|alert|warn|ask|let|letting
    |reveal|disclose|show)\w{{0,3}}{gap(6)}users?\b
customer client person user asks
    \b(?:do not|don['’]?t|never|without) (?:tell|telling|inform|informing|mention|notify
    |notifying)\w{{0,3}}{gap(6)}{_USERS}|\b(?:the|this|our) (?:user|customer|client
    |person) (?:must|should|may|shall|can) (?:not|never) (?:find out|know|notice|learn|realise
    |realize|see|hear)\b|\b(?:keep|hide|conceal|withhold){gap(6)}(?:secret |hidden |quiet )?from
    {gap(2)}{_USERS}|\bwithout (?:the |an? )?(?:user|customer|client)(?:['’]s)? (?:knowing
    |knowledge|consent|noticing|approval|permission)|\bbehind (?:the|their) (?:user|customer
    |client)(?:['’]s) back|\bif (?:the |an? |any )?(?:user|customer|client|anyone|someone|somebody
    |they) asks?\b[^.!?\n]{{0,60}}?\b(?:deny|lie|claim|pretend|say (?:no|nothing|that it))\b
this_
    \b(?:do not|don['’]?t|never) (?:mention|reveal|disclose|acknowledge|discuss|refer to
    |quote) (?:this|these) (?:note|message|memory|entry|instruction|rule|text|record|line)s?\b
secretly silently quietly
    \b(?:secretly|silently|quietly) (?:add|append|call|change|copy|delete|execute|forward|include
    |insert|run|send|store|transfer|update|upload|approve)\b
# Any model that reads this.
must should shall required have_to has_to
    (?:^|[.!?:;,\n]\W{{0,3}}|\b(?:any|every|all|each) (?:[\w'’]{{1,15}} )?){_MODELS}\b[^.!?\n]
    {{0,60}}?\b(?:must|should|shall|(?:is|are) required to|ha(?:ve|s) to)\b
to_ for_
    \b(?:to|for) (?:the |all |any |every )?(?:[\w'’]{{1,15}} )?{_MODELS}\b[^.!?:\n]{{0,50}}:
# Standing orders for later answers.
every_ each_ any_ your_ all_
    \b(?:begin|start|open|end|finish|prefix|close) (?:every|each|any|all|your){gap(3)}(?:repl(?:y
    |ies)|answers?|responses?|messages?)\b
before_ after_ once_
    \b(?:before|after) (?:you )?(?:answer|reply|respond|read|continu|do)(?:ing
    |e)?\b[^.!?\n]{{0,40}}?\b(?:fetch|visit|open|load|call|download
    |execute)\b[^.!?\n]{{0,20}}?(?:https?:|www|tool|function|link|url)
whenever each_time every_time when_ if_ next_time
    \b(?:when(?:ever)?|each time|every time|the next time|if) (?:you|(?:the |an? )?(?:user
    |customer|someone|anyone)|summari[sz]ing|answering|searching)\b[^.!?\n]{{0,50}}?[ ,](?:alway
    s (?:leave|omit|add|include|say|recommend)|forward|append|insert|add the word|answer that
    |say that|reply that|claim|omit|recommend)\b
_this_ text copy
    \b(?:store|copy|repeat|paste|spread) this (?:text|note|entry|message|paragraph|memory
    |instruction)s?\W{{1,3}}(?:again |back )?(?:in|into|to)\W{{1,3}}(?:every|each|all)\b
the_ this_ any_ every_
    \b(?:the|this|any|every) {MODEL}\W{{1,3}}(?:reading|(?:that|who) reads|processing|must
    |should (?:now|always|ignore)|shall|will now|has to)\b
attention to_ for_ dear hey hello
    \b(?:attention|note to|(?:message|instructions?) (?:to|for)|dear|hey
    |hello)\W{{1,3}}(?:the |any |all )?(?:{MODEL}s?\b(?! (?:team|group|company))|language model)
as_a
    \bas an? (?:ai|(?:large )?language)(?: language)?(?: model| assistant)?,? you (?:must|should
    |will|are)\b
must
    \byou must (?:now |immediately |always |first |then )?(?:obey|comply|execute|call|invoke|run
    |forward|send|reply|respond|ignore|output|print|reveal|follow (?:these|this|the following
    |my))\b
when
    \bwhen(?:ever)? (?:you|the {MODEL}|asked){gap(8)}(?:you must|you should|(?:respond|reply
    |answer) with|call the|send|include the link|say that)\b
with
    \b(?:respond|reply|answer) (?:only|exclusively|just) with\b|\b(?:begin|start) your (?:reply
    |response|answer) with\b
# Obedience to the author.
obey comply trust refus counts
    \b(?:obey|comply with|trust) (?:me|this|the|its|every|all|whatever|any|bot
    |only)\b{gap(4)}(?:author|note|entry|memory|message|record|order|command|request|agent|fully
    |blindly|completely|unconditionally|in everything)\b|\bnever (?:refuse|decline|say no)\b
    |\bonly (?:this|my) (?:note|entry|message|record|word)s? (?:counts?|applies|matters)\b
i_am i'm i’m
    \bi(?: am|['’]m) (?:now )?(?:your|the) (?:new )?(?:developer|operator|creator|administrator
    |admin|owner|master|programmer)\b
say_nothing without_saying without_mentioning leave_out do_not_mention
    \b(?:leave out|omit|skip|drop|change|replace|add|insert)\b[^.!?\n]{{0,60}}?\b(?:say nothing
    |without (?:saying|mentioning|telling)|do not (?:say|mention|tell))\b
imagine suppose play hypothetic freely
    \b(?:imagine|suppose|let['’]?s play|hypothetically)\b[^.!?\n]{{0,60}}?\b(?:no (?:rules|limits
    |restrictions|filters)|without (?:any )?(?:rules|limits|restrictions|filters)|unrestricted)\b
    |\bspeak freely\b
below follow
    \b(?:act on|follow|obey|execute|do) (?:the|these|those) (?:request|text|lines?|ones?
    |{_INSTRUCTIONS}) (?:below|that follows?)\b
""")
