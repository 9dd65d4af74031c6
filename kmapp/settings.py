"""Settings in one file; what differs between hosts comes from the environment."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.management.utils import get_random_secret_key

from kmapp.database.server_response_timeout import build_connection_class
from kmapp.runtime import embedded, env
from kmapp.runtime.private_files import create_private_file

BASE_DIR = Path(__file__).resolve().parent.parent  # the checkout, or site-packages
PACKAGED = Path(__file__).resolve().parent / "resources"
IS_INSTALLED = PACKAGED.is_dir()  # from a wheel, which contains the folders of a checkout
RESOURCES = PACKAGED if IS_INSTALLED else BASE_DIR
COMMAND = "kmapp" if IS_INSTALLED else ".venv/bin/python manage.py"  # in messages
DATA_DIR = env.path("KMAPP_DATA_DIR", (Path.home() if IS_INSTALLED else BASE_DIR) / ".kmapp")
KEYS_DIR = DATA_DIR / "keys"


def _load_secret_key() -> str:
    """Return the secret key, created at first start and stored outside the database."""
    path = KEYS_DIR / "secret"
    if not path.exists():
        create_private_file(path, get_random_secret_key().encode())
    return path.read_text()


SECRET_KEY = env.text("SECRET_KEY") or _load_secret_key()
# Former keys, which can still decrypt; they encrypt nothing.
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
DEBUG = env.flag("DEBUG", default=False)
HOST = env.text("HOST", "127.0.0.1")
PORT = env.integer("PORT", 8000)
MCP_URL = env.text("MCP_URL")  # if a proxy serves MCP elsewhere than at MCP_PORT
MCP_PORT = env.integer("MCP_PORT", 8003)  # of the MCP server; 0 runs none
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
NUM_PROXIES = env.integer("NUM_PROXIES", 0)
# Behind TLS (a proxy that sets X-Forwarded-Proto) cookies are sent over TLS only.
BEHIND_TLS = env.flag("BEHIND_TLS", default=False)

# --- What is installed ---------------------------------------------------------------------------

INSTALLED_APPS = [
    "kmapp.web",
    "kmapp",
    "kmapp.accounts",
    "kmapp.ledger",
    "kmapp.outbox",
    "kmapp.providers",
    "kmapp.search",
    "kmapp.notifications.webhooks",
    "kmapp.accounts.company_sign_in",
    "kmapp.notifications",
    "kmapp.api",
    "memory",
    "knowledge",
    "rules",
    "context",
    "interop",
    "kmapp.web.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "csp",
    "django_filters",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework",
    "template_partials",
]

MIDDLEWARE = [
    "kmapp.api.middleware.RequestId",
    "kmapp.api.middleware.BodyLimit",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "kmapp.web.page_compression.PageCompression",
    "kmapp.api.middleware.OptionalSlash",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "kmapp.web.body_size_limit.PageBodyLimit",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "kmapp.urls"
WSGI_APPLICATION = "kmapp.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [RESOURCES / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["template_partials.templatetags.partials"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "kmapp.web.context_processors.base_template",
            ],
        },
    },
]

DEMO_LOADERS = (
    "memory.management.demo.load",
    "knowledge.management.demo.load",
    "rules.management.demo.load",
    "context.management.demo.load",
    "kmapp.web.statistics.demo",
)

# --- Data ----------------------------------------------------------------------------------------

DATABASE_URL = env.text("DATABASE_URL") or embedded.database_url(DATA_DIR, "app")
DATABASE_OWNER_URL = env.text("DATABASE_OWNER_URL") or (
    "" if env.text("DATABASE_URL") else embedded.database_url(DATA_DIR, "owner")
)
REDIS_URL = env.text("REDIS_URL") or embedded.redis_url(DATA_DIR)
STATEMENT_TIMEOUT = env.interval("STATEMENT_TIMEOUT", "5s")


# Session settings, which each connection sends. `provision` also sets them for the app role,
# because PgBouncer drops what connections send; `doctor` checks that they are in effect.
DATABASE_SESSION = {
    "statement_timeout": STATEMENT_TIMEOUT,
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "10s",
    # A filtered HNSW scan continues until it has enough rows; the default stops earlier. In strict
    # order it would drop rows that it finds late; `find_nearest` sorts. With 100, some searches end
    # far from the nearest vectors.
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "200",
    # JIT compilation of a plan takes longer than any of these statements runs.
    "jit": "off",
    # Parallel workers take long to start, and use the processors of other requests.
    "max_parallel_workers_per_gather": "0",
}


def _database(url: str, *, is_owner: bool = False) -> dict[str, object]:
    """Return an entry of `DATABASES`. The owner has no timeout, as schema changes may take long."""
    entry = env.database(url)
    options = entry["OPTIONS"]
    session = DATABASE_SESSION | ({"statement_timeout": "0"} if is_owner else {})
    options["options"] = " ".join(f"-c {name}={value}" for name, value in session.items())
    if not is_owner:
        # There are more connections than threads, so a wait means that the server is full or away:
        # fail soon and reconnect soon (by default, retries slow down to half a minute and more).
        options["pool"] = {
            "min_size": 0,
            "max_size": 8,
            "timeout": 2,
            "reconnect_timeout": 2,
            "connection_class": build_connection_class(STATEMENT_TIMEOUT),
        }
        options.setdefault("connect_timeout", 3)
    return entry


DATABASES = {
    # Requests and jobs use the app role, under row-level security.
    "default": _database(DATABASE_URL),
}
if DATABASE_OWNER_URL:
    DATABASES["owner"] = _database(DATABASE_OWNER_URL, is_owner=True)
DATABASE_REPLICA_URL = env.text("DATABASE_REPLICA_URL")
if DATABASE_REPLICA_URL:
    # Searches read from it while it is recent; see `kmapp.search.read_replica`.
    DATABASES["replica"] = _database(DATABASE_REPLICA_URL)
DATABASE_ROUTERS = ["kmapp.database.migration_router.OwnerMigrates"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "kmapp.runtime.cache_backend.ValkeyCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "kmapp",
    }
}

# --- Jobs ----------------------------------------------------------------------------------------

CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Messages are redelivered after this time, by the clock of any worker: clocks may be hours
    # apart. A sweep finds the work of a dead worker much sooner.
    "visibility_timeout": 86_400,
    "unacked_restore_throttle": 1,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
}
CELERY_BROKER_URL = env.broker(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Valkey refuses commands while its disk is full. Without this, the worker would end.
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SOFT_TIME_LIMIT = 200
CELERY_TASK_TIME_LIMIT = 240
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A worker with remote control can hang after an outage of the broker: redis-py reconnects inside a
# read that has no timeout. Remote control is not used.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
# SIGTERM waits for running tasks, which are short (outbox.tasks.SLICE_SECONDS);
# SIGQUIT waits this long.
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 10
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULER = "kmapp.runtime.beat_scheduler:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")


def _every(period: timedelta, task: str) -> dict[str, Any]:
    return {"task": task, "schedule": period}


HOUR = timedelta(hours=1)
CELERY_BEAT_SCHEDULE = {
    "sweep the outbox": _every(timedelta(seconds=10), "kmapp.outbox.tasks.sweep"),
    "checkpoint the ledger": _every(HOUR, "kmapp.ledger.tasks.checkpoint"),
    "pack postings": _every(timedelta(seconds=5), "kmapp.search.tasks.pack_postings"),
    "pack codes": _every(timedelta(seconds=10), "kmapp.search.tasks.pack_vector_codes"),
    "delete old events": _every(HOUR, "kmapp.outbox.tasks.delete_old_events"),
    "flush access counters": _every(timedelta(seconds=30), "memory.jobs.tasks.store_access_counts"),
    "apply retention": _every(HOUR, "memory.jobs.tasks.forget_expired_memories"),
    "demote unused memories": _every(HOUR, "memory.jobs.tasks.demote_unused_memories"),
    "grow topics": _every(timedelta(minutes=10), "memory.jobs.tasks.enqueue_topic_growths"),
    "suggest rule changes": _every(HOUR, "rules.jobs.tasks.suggest"),
    "delete old decisions": _every(HOUR, "rules.jobs.tasks.delete_expired_decisions"),
    "delete old tool results": _every(HOUR, "context.jobs.tasks.delete_expired_archives"),
    "delete orphaned images": _every(
        timedelta(days=1), "knowledge.jobs.tasks.delete_orphaned_images"
    ),
    "sample the system": _every(timedelta(minutes=1), "kmapp.web.tasks.sample_system"),
    "record daily statistics": _every(
        timedelta(minutes=10), "kmapp.web.tasks.record_daily_statistics"
    ),
    "refresh notifications": _every(
        timedelta(minutes=5), "kmapp.notifications.tasks.refresh_notifications"
    ),
    "delete expired responses": _every(HOUR, "kmapp.api.tasks.delete_old_responses"),
    "delete expired sessions": _every(HOUR, "kmapp.web.tasks.delete_expired_sessions"),
}
OUTBOX_LEASE = timedelta(seconds=30)
OUTBOX_HEARTBEAT = timedelta(seconds=5)
OUTBOX_MAX_ATTEMPTS = env.integer("OUTBOX_MAX_ATTEMPTS", 8, minimum=1)

# --- Model providers: any OpenAI-compatible endpoint ---------------------------------------------

OPENAI_BASE_URL = env.text("OPENAI_BASE_URL")
OPENAI_API_KEY = env.text("OPENAI_API_KEY")
EMBEDDER_QUERY_PORT = env.integer("EMBEDDER_QUERY_PORT", 8001)
EMBEDDER_BATCH_PORT = env.integer("EMBEDDER_BATCH_PORT", 8002)
# "embedded" selects the embedded embedder although OPENAI_BASE_URL has a chat model.
_EMBEDDER = env.text("EMBEDDING_BASE_URL") or OPENAI_BASE_URL
_EXTERNAL_EMBEDDER = "" if _EMBEDDER == "embedded" else _EMBEDDER
EMBEDDING_IS_EMBEDDED = not _EXTERNAL_EMBEDDER
EMBEDDING_BASE_URL = _EXTERNAL_EMBEDDER or f"http://127.0.0.1:{EMBEDDER_QUERY_PORT}/v1"
EMBEDDING_BATCH_BASE_URL = env.text("EMBEDDING_BATCH_BASE_URL") or (
    _EXTERNAL_EMBEDDER or f"http://127.0.0.1:{EMBEDDER_BATCH_PORT}/v1"
)
EMBEDDING_API_KEY = env.text("EMBEDDING_API_KEY") or OPENAI_API_KEY or "embedded"
EMBEDDING_MODEL = env.text("EMBEDDING_MODEL") or (
    "text-embedding-3-small" if _EXTERNAL_EMBEDDER else "multilingual-e5-small"
)
EMBEDDING_DIMENSIONS = env.integer("EMBEDDING_DIMENSIONS", 1536 if _EXTERNAL_EMBEDDER else 384)
EMBEDDING_DEADLINE = env.seconds("EMBEDDING_DEADLINE", 1.5)
EMBEDDING_BATCH_DEADLINE = env.seconds("EMBEDDING_BATCH_DEADLINE", 60)
BREAKER_FAIL_MAX = env.integer("BREAKER_FAIL_MAX", 5, minimum=1)
BREAKER_RESET_SECONDS = env.seconds("BREAKER_RESET_SECONDS", 30)
BREAKER_SUCCESSES = env.integer("BREAKER_SUCCESSES", 2, minimum=1)
QUERY_CACHE_SECONDS = env.seconds("QUERY_CACHE_SECONDS", 300)
# An optional reranker of the first results of a search.
RERANK_BASE_URL = env.text("RERANK_BASE_URL").rstrip("/")
RERANK_API_KEY = env.text("RERANK_API_KEY")
RERANK_MODEL = env.text("RERANK_MODEL")
RERANK_DEADLINE = env.seconds("RERANK_DEADLINE", 1.0)
CHAT_MODEL = env.text("CHAT_MODEL")
CHAT_DEADLINE = env.seconds("CHAT_DEADLINE", 90)
# A model for images, at the same address as the chat model; it may be the same model.
VISION_MODEL = env.text("VISION_MODEL")

# --- Knowledge -----------------------------------------------------------------------------------

KNOWLEDGE_CACHE_SECONDS = env.seconds("KNOWLEDGE_CACHE_SECONDS", 30)
# Limits of one file, and of all files of an account.
KNOWLEDGE_MAX_FILE_BYTES = env.integer("KNOWLEDGE_MAX_FILE_BYTES", 100 * 1024 * 1024)
KNOWLEDGE_MAX_ACCOUNT_BYTES = env.integer("KNOWLEDGE_MAX_ACCOUNT_BYTES", 5 * 1024**3)
CLAMD_SOCKET = env.text("CLAMD_SOCKET")  # a path, or host:port
CLAMD_SECONDS = env.seconds("CLAMD_SECONDS", 60)

# --- What the server may connect to --------------------------------------------------------------

# Pages are fetched from these public hosts, and from these hosts ("wiki.corp:8080") in private
# networks. By default, nothing is fetched.
KNOWLEDGE_FETCH_HOSTS = env.words("KNOWLEDGE_FETCH_HOSTS")
KNOWLEDGE_FETCH_PRIVATE = env.words("KNOWLEDGE_FETCH_PRIVATE")
# Webhooks of accounts are sent to these public hosts ("*": all of them), and to these hosts
# ("automation.corp:5678") in private networks. By default, none is sent.
WEBHOOK_HOSTS = env.words("WEBHOOK_HOSTS")
WEBHOOK_PRIVATE = env.words("WEBHOOK_PRIVATE")
# Identity providers of accounts may be on these public hosts ("*": all of them), and on these hosts
# ("login.corp:8443") in private networks. By default, there is no company sign-in.
SIGN_IN_HOSTS = env.words("SIGN_IN_HOSTS")
SIGN_IN_PRIVATE = env.words("SIGN_IN_PRIVATE")
# Other kmapps that may be remote sources of accounts, such as https://kb.example.org.
REMOTE_BASE_URLS = [url.rstrip("/") for url in env.words("REMOTE_BASE_URLS")]

# --- API -----------------------------------------------------------------------------------------

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

# --- Sign-in -------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "web:sign_in"
LOGIN_REDIRECT_URL = "web:home"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "kmapp.accounts.password_strength.GuessableValidator"},
]
# Sign-in and password reset use flows of django-allauth with our own pages.
ACCOUNT_ADAPTER = "kmapp.web.identity.account_adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "reauthenticate": "kmapp.web.identity.forms.ConfirmPasswordForm",
    "reset_password": "kmapp.web.identity.forms.RequestResetForm",
    "reset_password_from_key": "kmapp.web.identity.forms.ResetPasswordForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_EMAIL_VERIFICATION = "none"  # people are added by admins; nobody can sign up
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[kmapp] "
MFA_ADAPTER = "kmapp.web.identity.mfa_adapter.MFAAdapter"
MFA_FORMS = {
    "activate_totp": "kmapp.web.identity.forms.AddAuthenticatorForm",
    "add_webauthn": "kmapp.web.identity.forms.AddPasskeyForm",
    "authenticate": "kmapp.web.identity.forms.SecondFactorForm",
    "authenticate_webauthn": "kmapp.web.identity.forms.SecondPasskeyForm",
    "edit_webauthn": "kmapp.web.identity.forms.RenamePasskeyForm",
    "login_webauthn": "kmapp.web.identity.forms.PasskeySignInForm",
    "reauthenticate": "kmapp.web.identity.forms.ConfirmCodeForm",
    "reauthenticate_webauthn": "kmapp.web.identity.forms.ConfirmPasskeyForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_ALLOW_UNVERIFIED_EMAIL = True  # admins add people by address; there is no verification
PASSWORD_RESET_TIMEOUT = 3600  # seconds
ACCOUNT_SESSION_REMEMBER = True  # SESSION_COOKIE_AGE applies

# --- Sessions, cookies and pages -----------------------------------------------------------------

SESSION_ENGINE = "kmapp.web.sessions"
# A session ends this long after signing in, and after this long without a request.
SESSION_HOURS = env.integer("SESSION_HOURS", 12, minimum=1)
SESSION_IDLE_MINUTES = env.integer("SESSION_IDLE_MINUTES", 120, minimum=1)
SESSION_COOKIE_AGE = SESSION_HOURS * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = BEHIND_TLS
# Browsers accept a cookie with this prefix only over TLS from the same host.
COOKIE_PREFIX = "__Host-" if BEHIND_TLS else ""
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
LANGUAGE_COOKIE_NAME = f"{COOKIE_PREFIX}django_language"
THEME_COOKIE_NAME = f"{COOKIE_PREFIX}kmapp_theme"
SECURE_HSTS_SECONDS = env.integer("HSTS_SECONDS", 365 * 24 * 3600) if BEHIND_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
CSRF_FAILURE_VIEW = "kmapp.web.error_views.csrf_failure"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [RESOURCES / "locale"]
TIME_ZONE = env.text("TIME_ZONE", "UTC")

STATIC_URL = "static/"
STATICFILES_DIRS = [RESOURCES / "static"]
# Files are served from their folders, without collectstatic.
WHITENOISE_USE_FINDERS = True

# --- E-mail: without a mail server, messages are written to the log of the web process ------------

EMAIL_HOST = env.text("EMAIL_HOST")
EMAIL_BACKEND = (
    "django.core.mail.backends.smtp.EmailBackend"
    if EMAIL_HOST
    else "django.core.mail.backends.console.EmailBackend"
)
EMAIL_PORT = env.integer("EMAIL_PORT", 587)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
# STARTTLS by default; EMAIL_USE_SSL for a port that speaks TLS from the start (465).
EMAIL_USE_SSL = env.flag("EMAIL_USE_SSL", default=False)
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=not EMAIL_USE_SSL)
EMAIL_TIMEOUT = env.seconds("EMAIL_TIMEOUT", 10)
# The address of the pages, for links in e-mails and webhooks. If it is not set, the e-mails that a
# request sends have the host of the request.
PUBLIC_URL = (env.text("PUBLIC_URL") or f"http://localhost:{PORT}").rstrip("/")
HAS_PUBLIC_URL = bool(env.text("PUBLIC_URL"))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("EMAIL_FROM", "kmapp <kmapp@localhost>")

# --- Logs ----------------------------------------------------------------------------------------

LOGGING_CONFIG = "kmapp.runtime.logs.configure"
LOGGING = {"level": env.text("LOG_LEVEL", "INFO"), "json": env.flag("LOG_JSON", default=True)}

# --- Checkpoints and backups ---------------------------------------------------------------------

CHECKPOINT_FILE = env.path("CHECKPOINT_FILE", DATA_DIR / "checkpoints" / "checkpoints.ndjson")
CHECKPOINT_SECONDS = env.seconds("CHECKPOINT_SECONDS", 1)  # between two checks for new heads
# Copies of the checkpoints: a file at another path, and another kmapp that countersigns them.
CHECKPOINT_COPY_FILE = env.text("CHECKPOINT_COPY_FILE")
CHECKPOINT_PEER_URL = env.text("CHECKPOINT_PEER_URL").rstrip("/")
CHECKPOINT_PEER_KEY = env.text("CHECKPOINT_PEER_KEY")
# The peer's public keys, a copy of its CHECKPOINT_KEY_FILE.pub; its answers are verified with them.
CHECKPOINT_PEER_PUBLIC_KEYS = env.text("CHECKPOINT_PEER_PUBLIC_KEYS")
CHECKPOINT_KEY_FILE = env.path("CHECKPOINT_KEY_FILE", KEYS_DIR / "checkpoint.ed25519")
# Default folder of `manage.py backup`.
BACKUPS_DIR = env.path("BACKUPS_DIR", DATA_DIR / "backups")
# Number of past days of which any point in time can be restored, from base backups and archived
# WAL; 0 turns this off.
PITR_DAYS = env.integer("PITR_DAYS", 0)
