"""Health figures of an account's memories."""

from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.api.health import HealthReport, check, figure
from kmapp.providers import chat
from kmapp.providers.active_models import active_model
from kmapp.search.models import Vector
from memory.actions.extraction_requests import NO_CHAT_MODEL
from memory.models import Extraction


@figure("pending_embeddings")
def count_pending_embeddings(account_id: UUID) -> int:
    """Count missing vectors, of texts alone and after their predecessors."""
    with acting(account_id):
        waiting = Vector.objects.of(account_id).filter(state=Vector.State.PENDING)
        return waiting.filter(model=active_model()).count()


@figure("pending_extractions")
def count_pending_extractions(account_id: UUID) -> int:
    """Count conversations and tasks that are not processed yet."""
    with acting(account_id):
        return Extraction.objects.of(account_id).filter(finished_at=None).count()


@check("chat_model")
def check_chat_model(_account_id: UUID) -> HealthReport:
    """Report whether a chat model is configured; without one, jobs that need it wait."""
    configured = chat.is_configured()
    facts = {"configured": configured, "vision": chat.supports_images()}
    return HealthReport(ok=True, facts=facts if configured else {**facts, "reason": NO_CHAT_MODEL})
