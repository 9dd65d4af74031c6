"""Endpoint for search."""

from dataclasses import replace

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from memory.api import serialize
from memory.api.recall import build_search_request
from memory.api.response_types import SearchAnswer
from memory.api.shared_request_serializers import SearchInput
from memory.retrieval.access_counters import count_accesses
from memory.retrieval.search import search_memories


class SearchMemories(AgentView):
    """Search memories by words and meaning, best first."""

    scopes = {"POST": Scope.MEMORY_READ}
    drops_equal_texts = True  # False for protocols in which they are different objects

    @extend_schema(request=SearchInput, responses={200: SearchAnswer})
    def post(self, request: Request) -> Response:
        data = parse(SearchInput, request)
        query = build_search_request(self.account, data, self.variant)
        query = replace(query, drops_equal_texts=self.drops_equal_texts)
        self.variant = query.variant
        result = search_memories(self.account, query)
        count_accesses(self.account, [hit.entry.pk for hit in result.hits])
        return Response(
            {
                "results": [
                    serialize.serialize_hit(hit, self.variant, explain=data["explain"])
                    for hit in result.hits
                ],
                **self.variant.versions(),
                "decisions": result.decisions,
            }
        )
