"""That the database is older than what was signed of it is said so that everybody can read it."""

import pytest
from django.conf import settings
from django.utils import timezone

from kmapp.accounts.models import Account, User
from kmapp.ledger.signing import Statement, append, sign, signing_key
from tests.web.browser import Visitor

pytestmark = pytest.mark.browser


def test_checkpoint_warning_is_accessible(visitor: Visitor, acme: Account, ada: User) -> None:
    key = signing_key(settings.CHECKPOINT_KEY_FILE)
    said = Statement(account=acme.pk, seq=99, commit_hash="ab" * 32, created_at=timezone.now())
    append(settings.CHECKPOINT_FILE, [sign(key, said)])
    visitor.sign_in(ada)
    for path in ("/operations/", "/ledger/"):
        assert visitor.inspect(path) == []
        assert visitor.page.get_by_role("alert").filter(has_text="99").count() == 1
