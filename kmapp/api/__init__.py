"""Shared parts of the HTTP API: authentication, errors, rate limits, idempotency, OpenAPI.

An endpoint is an `AgentView` (`kmapp.api.views`): it names a scope for each method and a bucket,
and does three things: parse, act, answer. Refusals are raised where they are known and become HTTP
in `kmapp.api.errors` alone.
"""
