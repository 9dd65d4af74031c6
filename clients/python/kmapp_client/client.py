"""The synchronous client."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import httpx

from kmapp_client import calls
from kmapp_client.calls import Call, Json, Results, T
from kmapp_client.errors import ConnectionFailed, KmappError
from kmapp_client.transport import Retry, default_headers, read_response, request_arguments

TIMEOUT = 30.0  # seconds


class Client:
    """Client of one kmapp server, with the key of one account.

    Options of the methods are the fields of the request, such as `user_id`, `run_id`, `limit`,
    `filters` or `token_budget`.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = TIMEOUT,
        retry: Retry | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        self._http = http or httpx.Client(timeout=timeout)
        self._http.base_url = httpx.URL(base_url) if base_url else self._http.base_url
        self._http.headers.update(default_headers(api_key))
        self._retry = retry or Retry()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Call any endpoint and return its JSON. Raise KmappError."""
        call: Call[Any] = Call(method, path, body)
        return self._send(call)

    def _send(self, call: Call[T]) -> T:
        arguments, number = request_arguments(call), 0
        while True:
            number += 1
            response, failure = None, ""
            try:
                response = self._http.request(**arguments)
            except httpx.TransportError as error:
                failure = str(error)
            if not self._retry.applies(number, response):
                break
            time.sleep(self._retry.delay(number, response))
        if response is None:
            raise ConnectionFailed(f"No response from {self._http.base_url}: {failure}")
        return read_response(call, response)

    def store(self, text: str, **options: Any) -> Json:
        """Store one memory; `status` is `proposed` if it needs review."""
        return self._send(calls.store(text, **options))

    def add(self, messages: Any, **options: Any) -> Json:
        """Add a conversation, from which a worker extracts memories; see `event`."""
        return self._send(calls.add(messages, **options))

    def search(self, query: str, **options: Any) -> Results:
        """Return the matching memories, best first."""
        return self._send(calls.search(query, **options))

    def inject(self, query: str, **options: Any) -> Json:
        """Return a block of memories for a prompt, as `text`."""
        return self._send(calls.inject(query, **options))

    def get(self, memory_id: str) -> Json:
        return self._send(calls.get(memory_id))

    def update(self, memory_id: str, **changes: Any) -> Json:
        """Change a memory; the change of an account-wide one is a proposal."""
        return self._send(calls.update(memory_id, **changes))

    def forget(self, memory_id: str, reason: str = "") -> Json:
        return self._send(calls.forget(memory_id, reason))

    def rate(self, memory_id: str, outcome: str, reason: str = "") -> Json:
        """Rate a memory: positive, neutral, negative or very_negative."""
        return self._send(calls.rate(memory_id, outcome, reason))

    def list_memories(self, **options: Any) -> Iterator[Json]:
        """Yield the memories of all pages, newest first."""
        cursor = None
        while True:
            page = self._send(calls.list_memories(cursor, **options))
            yield from page["results"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def search_knowledge(self, query: str, **options: Any) -> Results:
        """Return passages of documents with citations, best first."""
        return self._send(calls.search_knowledge(query, **options))

    def evaluate_rules(self, context: Mapping[str, Any], **options: Any) -> Json:
        return self._send(calls.evaluate_rules(context, **options))

    def select_tool(
        self, context: Mapping[str, Any], candidates: Sequence[str], **options: Any
    ) -> Json:
        """Choose among tools by the rules; the decision is recorded."""
        return self._send(calls.select_tool(context, candidates, **options))

    def assemble(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Json:
        """Return messages and tools that fit the context window, with what is known."""
        return self._send(calls.assemble(messages, **options))

    def archive(self, tool_name: str, result: Any, **options: Any) -> str:
        """Return what to put into the conversation: the result, or a placeholder of a long one."""
        return str(self._send(calls.archive(tool_name, result, **options))["content"])

    def load_tool_result(self, uuid: str, **options: Any) -> Json:
        return self._send(calls.load_tool_result(uuid, **options))

    def answer_load_calls(self, message: Mapping[str, Any], **scope: Any) -> list[Json]:
        """Return the tool messages for the model's calls of `load_tool_history`.

        `scope` limits what the model may load, such as `conversation_id`.
        """
        answers = []
        for call in calls.find_load_calls(message):
            try:
                content = self._send(call.request(scope))
                text = str(content["content"])
            except KmappError as error:
                text = f"Error: {error}"
            answers.append(calls.tool_message(call.call_id, text))
        return answers

    def event(self, event_id: str) -> Json:
        """Return the state of asynchronous work."""
        return self._send(calls.event(event_id))

    def health(self) -> Json:
        return self._send(calls.health())
