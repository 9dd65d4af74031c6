"""Keyed digests are those of Django, with the present key and former ones."""

from django.test import override_settings
from django.utils.crypto import salted_hmac

from kmapp.database.keyed_digests import keyed_digest, keyed_digests, matches_digest


@override_settings(SECRET_KEY="present", SECRET_KEY_FALLBACKS=["former"])
def test_digests_are_those_of_salted_hmac() -> None:
    for purpose in ("memory.entry", "rules.rule"):
        for content in ("é", b"\xff", ""):
            assert list(keyed_digests(purpose, content)) == [
                salted_hmac(purpose, content, secret=secret, algorithm="sha256").hexdigest()
                for secret in ("present", "former")
            ]


def test_digests_with_a_former_key_are_recognised() -> None:
    with override_settings(SECRET_KEY="former"):
        stored = keyed_digest("p", "text")
    with override_settings(SECRET_KEY="present", SECRET_KEY_FALLBACKS=["former"]):
        assert keyed_digest("p", "text") != stored
        assert matches_digest(stored, "p", "text")
        assert not matches_digest(stored, "q", "text")
    with override_settings(SECRET_KEY="present"):
        assert not matches_digest(stored, "p", "text")
