"""The form of an admin who sets up company sign-in, and the requests of a person who uses it."""

from typing import Any
from urllib.parse import parse_qsl

from django.test import Client

from tests.identity_provider import CLIENT_ID, SECRET, IdentityProvider
from tests.web.pages import page

START = "/sign-in/company/acme/"
SETTINGS = "/company-sign-in/"


def sign_in_form(provider: IdentityProvider, **more: Any) -> dict[str, Any]:
    values = {
        "name": "Acme & Co",
        "issuer": f"{provider.url}/",
        "client_id": CLIENT_ID,
        "client_secret": SECRET,
        "email_domains": "acme.test, acme.example",
        "groups_claim": "groups",
        "groups_admin": "it\r\nboard",
        "groups_reviewer": "staff",
        "creates_logins": "on",
        "allows_password": "on",
        "is_listed": "on",
        "is_active": "on",
    }
    return {name: value for name, value in (values | more).items() if value}


def connect(company: IdentityProvider, client: Client, subject: str) -> Any:
    """Connect the login of a signed-in person: confirm it, then sign in at the provider."""
    question = page(client.get(START))
    link = question.split(f'href="{START}?', 1)[1].split('"', 1)[0].replace("&amp;", "&")
    return company.sign_in(client, subject, **dict(parse_qsl(link)))
