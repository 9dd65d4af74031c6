"""Connections to Valkey, the broker, model providers, the virus scanner and the mail server."""

from collections.abc import Iterator

from celery import current_app
from django.conf import settings
from django.core.mail import get_connection
from kombu.exceptions import OperationalError
from redis import Redis

from kmapp.management.doctor.registry import DoctorFinding, check, error, ok
from kmapp.providers import chat, rerank
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding import Embedder, Kind, OpenAIEmbedder
from kmapp.providers.errors import ProviderError
from kmapp.runtime.cache_backend import valkey_cache
from kmapp.security.clamd import ScanFailed, ping

VALKEY = 7  # the oldest version that works
CHAT_SECONDS = 20.0
PING_SECONDS = 5.0
PROMPT = [{"role": "user", "content": "Reply with OK."}]


@check("valkey")
def check_valkey() -> Iterator[DoctorFinding]:
    if not valkey_cache.ping():
        yield error("does not respond", "Start Valkey and check REDIS_URL.")
        return
    with Redis.from_url(settings.REDIS_URL, socket_timeout=2) as server:
        info = server.info("server")
    version = str(info.get("valkey_version") or info["redis_version"])
    if int(version.partition(".")[0]) < VALKEY:
        yield error(f"{version} is too old", f"Upgrade to Valkey or Redis {VALKEY} or later.")
    else:
        yield ok(f"version {version} responds")


@check("broker", needs="valkey")
def check_broker() -> Iterator[DoctorFinding]:
    with current_app.connection_for_write() as broker:
        try:
            broker.ensure_connection(max_retries=1, timeout=5)
        except OperationalError as problem:
            yield error(f"Celery cannot connect: {problem}", "Check REDIS_URL and its database.")
        else:
            yield ok("Celery connects")


@check("embedder", needs="database")
def check_embedder() -> Iterator[DoctorFinding]:
    """Embed one word as a query and as a passage, which may be different servers."""
    model = active_model()
    pairs: list[tuple[Kind, Embedder]] = [
        ("query", OpenAIEmbedder.for_queries(model)),
        ("passage", OpenAIEmbedder.for_passages(model)),
    ]
    problems = []
    for kind, embedder in pairs:
        try:
            embedder.embed(["tea"], kind=kind)
        except ProviderError as problem:
            problems.append(
                error(
                    f"no vector for a {kind} from {model}: {problem}",
                    "Start the embedder and check EMBEDDING_BASE_URL, EMBEDDING_BATCH_BASE_URL and"
                    " the model's dimensions.",
                )
            )
    yield from problems or [ok(f"{model} returns vectors")]


@check("chat model")
def check_chat_model() -> Iterator[DoctorFinding]:
    if not chat.is_configured():
        yield ok("none is configured; what needs one waits")
        return
    try:
        chat.complete_chat(PROMPT, deadline=min(CHAT_SECONDS, settings.CHAT_DEADLINE))
    except ProviderError as problem:
        yield error(
            f"{settings.CHAT_MODEL} does not answer: {problem}",
            "Check OPENAI_BASE_URL, OPENAI_API_KEY and CHAT_MODEL.",
        )
    else:
        yield ok(f"{settings.CHAT_MODEL} answers")


@check("reranker")
def check_reranker() -> Iterator[DoctorFinding]:
    if not settings.RERANK_BASE_URL:
        yield ok("none is configured")
        return
    try:
        rerank.score_relevance("tea", ["Tea at nine."])
    except ProviderError as problem:
        yield error(
            f"does not answer: {problem}",
            "Check RERANK_BASE_URL, RERANK_API_KEY, RERANK_MODEL and RERANK_DEADLINE.",
        )
    else:
        yield ok(f"{settings.RERANK_MODEL} answers")


@check("virus scanner")
def check_virus_scanner() -> Iterator[DoctorFinding]:
    address = settings.CLAMD_SOCKET
    if not address:
        yield ok("none is configured")
        return
    try:
        ping(address, timeout=min(PING_SECONDS, settings.CLAMD_SECONDS))
    except ScanFailed as problem:
        yield error(
            f"clamd does not answer at {address}: {problem}",
            "Start clamd and check CLAMD_SOCKET; until it answers, no file is stored.",
        )
    else:
        yield ok(f"clamd answers at {address}")


@check("mail server", needs="e-mail settings")
def check_mail_server() -> Iterator[DoctorFinding]:
    """Connect and sign in; send nothing."""
    if not settings.EMAIL_HOST:
        yield ok("none is configured")
        return
    server, address = get_connection(), f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        server.open()
    except OSError as problem:  # smtplib's errors are OSErrors
        yield error(
            f"{address} refuses: {type(problem).__name__}: {problem}",
            "Check EMAIL_HOST, EMAIL_PORT, EMAIL_USE_TLS, EMAIL_HOST_USER and EMAIL_HOST_PASSWORD.",
        )
    else:
        yield ok(f"{address} accepts the sign-in")
    finally:
        server.close()
