"""What health says of an account's memories."""

from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.api.health import figure
from kmapp.providers.active import active_model
from kmapp.search.models import Vector


@figure("pending_embeddings")
def pending_embeddings(account_id: UUID) -> int:
    """Texts that wait for their vector: at 0, all that was written is found by its meaning too."""
    with acting(account_id):
        waiting = Vector.objects.of(account_id).filter(state=Vector.State.PENDING)
        return waiting.filter(model=active_model()).count()
