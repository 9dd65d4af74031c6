"""The newest versions of a sealed object on its page, with their commits and proofs."""

from typing import Any

from django.db.models import QuerySet

from kmapp.accounts.models import SealedModel
from kmapp.ledger.verify import Claim, verify_claims

MAX_VERSIONS = 50  # on one page


def list_versions(rows: QuerySet[Any], of: SealedModel) -> tuple[list[dict[str, Any]], bool]:
    """Return steps for components/version.html, newest first, and whether there are more."""
    states = list(rows.order_by("-version")[: MAX_VERSIONS + 1])
    claims = [Claim(commit_id=state.commit_id, state=state.state) for state in states]
    proofs = verify_claims(of.account_id, of._meta.label_lower, of.pk, claims)
    steps = [
        {
            "state": state,
            "before": before,
            "commit": proofs[state.commit_id].commit,
            "proven": proofs[state.commit_id].is_sealed,
        }
        for state, before in zip(states[:MAX_VERSIONS], [*states[1:], None], strict=False)
    ]
    return steps, len(states) > MAX_VERSIONS
