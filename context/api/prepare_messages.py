"""Messages on their way to a model and back, and the tool by which it asks for more."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.prepare_messages import Preparation, prepared, restored
from context.api import serialize
from context.api.request_serializers import LanguageInput, MessagesInput, PrepareInput, within_of
from context.api.response_types import PreparedAnswer, ToolAnswer
from context.archives.load_tool import PARAGRAPHS, load_tool_history
from context.models import ContextSettings
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse


class Prepare(AgentView):
    """Put placeholders in the place of long tool results, and load those that are wanted.

    Results of the last `keep_turns` turns stay whole. The answer says what was loaded and why.
    """

    scopes = {"POST": Scope.CONTEXT_WRITE}
    idempotent = True

    @extend_schema(request=PrepareInput, responses={200: PreparedAnswer})
    def post(self, request: Request) -> Response:
        asked = parse(PrepareInput, request)
        done = prepared(
            self.account,
            self.actor,
            asked["messages"],
            Preparation(
                within=within_of(asked),
                agent_id=asked.get("agent_id") or "",
                keep_turns=asked["keep_turns"],
                query=asked.get("query") or "",
                load=asked["load"],
                load_uuids=asked.get("load_uuids", ()),
                load_limit=asked["load_limit"],
                max_tokens=asked.get("max_tokens"),
                language=asked.get("language") or "",
            ),
        )
        answer = Response(serialize.prepared_output(done, asked["messages"]))
        with acting(self.account):
            return self.seal(answer)


class Restore(AgentView):
    """Put placeholders back in the place of all that was loaded, for the next turn."""

    scopes = {"POST": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(request=MessagesInput, responses={200: PreparedAnswer})
    def post(self, request: Request) -> Response:
        asked = parse(MessagesInput, request)
        with acting(self.account):
            done = restored(self.account, asked["messages"], within_of(asked))
        return Response(serialize.prepared_output(done, asked["messages"]))


class LoadTool(AgentView):
    """The tool `load_tool_history`, ready for a model, and the paragraph for its system prompt."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(parameters=[LanguageInput], responses={200: ToolAnswer})
    def get(self, request: Request) -> Response:
        asked = parse(LanguageInput, request)
        with acting(self.account):
            settings = ContextSettings.objects.here(self.account)
        language = asked.get("language") or settings.language
        return Response({"tool": load_tool_history(language), "system": PARAGRAPHS[language]})
