"""API of message preparation, and of the tool that loads archived results."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.prepare_messages import Preparation, prepare_messages, restore_placeholders
from context.api import serialize
from context.api.request_serializers import LanguageInput, MessagesInput, PrepareInput, build_scope
from context.api.response_types import PreparedAnswer, ToolAnswer
from context.archives.placeholders import PARAGRAPHS, build_load_tool
from context.models import ContextSettings
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse


class Prepare(AgentView):
    """Replace long tool results by placeholders, and load the relevant ones.

    Results of the last `keep_turns` turns stay. The response lists what was loaded and why.
    """

    scopes = {"POST": Scope.CONTEXT_WRITE}
    idempotent = True

    @extend_schema(request=PrepareInput, responses={200: PreparedAnswer})
    def post(self, request: Request) -> Response:
        params = parse(PrepareInput, request)
        prepared = prepare_messages(
            self.account,
            self.actor,
            params["messages"],
            Preparation(
                within=build_scope(params),
                agent_id=params.get("agent_id") or "",
                keep_turns=params["keep_turns"],
                query=params.get("query") or "",
                load=params["load"],
                load_uuids=params.get("load_uuids", ()),
                load_limit=params["load_limit"],
                max_tokens=params.get("max_tokens"),
                language=params.get("language") or "",
            ),
        )
        response = Response(serialize.serialize_prepared(prepared, params["messages"]))
        with acting(self.account):
            return self.seal(response)


class Restore(AgentView):
    """Replace loaded results by their placeholders again, for the next turn."""

    scopes = {"POST": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(request=MessagesInput, responses={200: PreparedAnswer})
    def post(self, request: Request) -> Response:
        params = parse(MessagesInput, request)
        with acting(self.account):
            prepared = restore_placeholders(self.account, params["messages"], build_scope(params))
        return Response(serialize.serialize_prepared(prepared, params["messages"]))


class LoadTool(AgentView):
    """Return the tool `load_tool_history` and the paragraph for the system prompt."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(parameters=[LanguageInput], responses={200: ToolAnswer})
    def get(self, request: Request) -> Response:
        params = parse(LanguageInput, request)
        with acting(self.account):
            settings = ContextSettings.objects.get_or_default(self.account)
        language = params.get("language") or settings.language
        return Response({"tool": build_load_tool(language), "system": PARAGRAPHS[language]})
