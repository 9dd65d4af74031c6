"""What a call wants to have found, of what was collected for it."""

from context.assembly.messages import words_of
from context.assembly.retrieval_requests import Wanted
from context.assembly.stages import Collected, Request
from context.assembly.tool_offer import name_of

SAID = 20  # messages that lore may look at


def wanted_of(request: Request, collected: Collected) -> Wanted:
    material = collected.material
    names = tuple(dict.fromkeys(name_of(tool) for tool in request.tools))
    return Wanted(
        account_id=request.account_id,
        query=collected.query,
        sources=request.sources,
        user_id=request.within.user_id,
        agent_id=request.agent_id,
        app_id=request.app_id,
        run_id=request.within.conversation_id,
        scope=request.scope,
        limit=request.limit,
        min_score=collected.policy.min_score,
        deadline_ms=collected.policy.retrieval_ms,
        knowledge_sources=request.knowledge_sources,
        lorebooks=request.lorebooks,
        said=[words_of(each) for each in material.messages[-SAID:]],
        rules_context=request.rules_context,
        tools=names,
        variant=collected.variant,
        remote=collected.settings.remote(),
    )
