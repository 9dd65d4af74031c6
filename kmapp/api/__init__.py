"""Shared parts of the HTTP API: authentication, errors, rate limits, idempotency, OpenAPI.

An endpoint is an `AgentView` (`kmapp.api.views`) with a scope for each method and a rate limit
bucket. It parses the request, calls an action and serializes the result. Errors are raised as
`DomainError` and converted to HTTP in `kmapp.api.errors`.
"""
