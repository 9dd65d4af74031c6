"""The API: limits, the REST framework and the OpenAPI schema."""

from kmapp.runtime import env
from kmapp.settings.server import NUM_PROXIES

# The largest body; a batch of 200 entries of ordinary length is about 0.2 MB.
DATA_UPLOAD_MAX_MEMORY_SIZE = env.integer("MAX_BODY_BYTES", 2 * 1024 * 1024)
# The largest form with files, of people who are signed in.
UPLOAD_MAX_BYTES = env.integer("MAX_UPLOAD_BYTES", 512 * 1024 * 1024)
# More than the page of uploads accepts, so that the page can say so.
DATA_UPLOAD_MAX_NUMBER_FILES = 1000
# Requests per minute and API key, by bucket.
THROTTLES = {
    "write": env.integer("THROTTLE_WRITE_PER_MINUTE", 6000),
    "recall": env.integer("THROTTLE_RECALL_PER_MINUTE", 6000),
    "debug": env.integer("THROTTLE_DEBUG_PER_MINUTE", 30),
    # Questions that a request answers with the chat model, while a thread waits for it.
    "reflect": env.integer("THROTTLE_REFLECT_PER_MINUTE", 20),
    "sign_in": env.integer("THROTTLE_SIGN_IN_PER_MINUTE", 10),
    # By person: checks of the ledger on its page.
    "verify": env.integer("THROTTLE_VERIFY_PER_MINUTE", 30),
    # By account: invitations by e-mail.
    "invitation": env.integer("THROTTLE_INVITATION_PER_MINUTE", 10),
    # By address: requests without a valid key.
    "anonymous": env.integer("THROTTLE_ANONYMOUS_PER_MINUTE", 60),
}
# A token with which Prometheus may read /metrics.
METRICS_TOKEN = env.text("METRICS_TOKEN")
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["kmapp.accounts.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["kmapp.api.permissions.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["kmapp.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "kmapp.api.openapi.AgentSchema",
    "EXCEPTION_HANDLER": "kmapp.api.errors.render",
    "NUM_PROXIES": NUM_PROXIES,
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "kmapp",
    "DESCRIPTION": (
        "What an organisation's agents know: memories, knowledge, rules and their cost.\n\n"
        "Fields that an endpoint does not know are ignored; `warnings` in the response names them, "
        "each with its path and the nearest known name. With the header `X-KM-Strict: true` they "
        "are a 400 `unknown_field`.\n\n"
        "A list returns a page of at most `limit` rows, and `next` (of memories `next_cursor`), "
        "which is null on the last page. Send it as `cursor`, `before`, `after` or `offset`: the "
        "parameter that the list has."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/v1",
    "COMPONENT_SPLIT_PATCH": False,
    "ENFORCE_NON_BLANK_FIELDS": True,
    "ENUM_NAME_OVERRIDES": {
        "Kind": "memory.models.MemoryEntry.Kind",
        "RankingStatus": "memory.models.Ranking.Status",
        "StatusEnum": "memory.models.MemoryEntry.Status",
        "RuleOutcome": "rules.models.RuleFeedback.Outcome",
        "SourceKind": "knowledge.models.KnowledgeSource.Kind",
    },
}
