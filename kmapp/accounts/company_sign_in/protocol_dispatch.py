"""Requests to an identity provider and its responses, by the protocol of the company sign-in."""

from collections.abc import Mapping

from kmapp.accounts.company_sign_in import openid_connect as openid
from kmapp.accounts.company_sign_in.assertions import Assertion, RefusalReason, SignInRefused
from kmapp.accounts.company_sign_in.models import CompanySignIn
from kmapp.accounts.company_sign_in.openid_connect import StartedSignIn
from kmapp.accounts.company_sign_in.saml import (
    ExpectedResponse,
    build_request_url,
    parse_saml_response,
)


def start_at_provider(
    sign_in: CompanySignIn, started: StartedSignIn, *, start_url: str, back_url: str
) -> str:
    """Return the address at the provider to which the browser goes. Raise SignInRefused."""
    if not sign_in.uses_saml:
        return openid.build_authorization_url(sign_in, started, back_url)
    if not openid.is_allowed(sign_in.sign_in_url):
        raise SignInRefused(RefusalReason.UNREACHABLE, "SAML: an address without TLS")
    return build_request_url(
        sign_in.sign_in_url, _build_expected_response(sign_in, started, start_url, back_url)
    )


def parse_answer(
    sign_in: CompanySignIn,
    started: StartedSignIn,
    answer: Mapping[str, str],
    *,
    start_url: str,
    back_url: str,
) -> Assertion:
    """Return what the provider states in the answer of the browser. Raise SignInRefused."""
    if not sign_in.uses_saml:
        return openid.load_assertion(sign_in, started, answer, back_url)
    expected = _build_expected_response(sign_in, started, start_url, back_url)
    return parse_saml_response(answer.get("SAMLResponse", ""), expected, sign_in.groups_claim)


def _build_expected_response(
    sign_in: CompanySignIn, started: StartedSignIn, start_url: str, back_url: str
) -> ExpectedResponse:
    return ExpectedResponse(
        issuer=sign_in.issuer,
        certificate=sign_in.certificate,
        audience=start_url,  # the start URL is kmapp's entity ID at the provider
        acs_url=back_url,
        request_id=f"_{started.nonce}",
    )
