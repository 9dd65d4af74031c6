"""A real OpenID Connect provider on loopback, and the requests of a browser that signs in."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
from django.test import Client

CLIENT_ID = "kmapp-of-acme"
SECRET = "secret-of-the-client"
FROM_OWN_PAGE = {"sec-fetch-site": "same-origin"}  # a browser sends it after a click on our page


@dataclass
class IdentityProvider:
    """The provider, its people, and the requests for tokens that it received."""

    url: str
    token_requests: list[dict[str, str]] = field(default_factory=list)

    @property
    def netloc(self) -> str:
        return urlsplit(self.url).netloc

    def put(self, subject: str, **claims: Any) -> None:
        """Create or change a person, by default with a name and a verified e-mail address."""
        stated = {"email": f"{subject}@acme.test", "email_verified": True, "name": subject.title()}
        answer = httpx.put(f"{self.url}/users/{quote(subject)}", json=stated | claims)
        answer.raise_for_status()

    def authorize(self, url: str, subject: str, **form: str) -> str:
        """Sign in at the provider; return the address to which it sends the browser back."""
        answer = httpx.post(url, data={"sub": subject} | form)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    def sign_in(self, client: Client, subject: str, slug: str = "acme", **query: str) -> Any:
        """Follow the sign-in from our button to the provider and back; return our response."""
        started = client.get(f"/sign-in/company/{slug}/", query, headers=FROM_OWN_PAGE)
        assert started.status_code == 302, started.content.decode()
        return client.get(self.authorize(started.headers["Location"], subject))


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    # Imported here, because it takes long and few tests need it.
    from oidc_provider_mock import run_server_in_thread

    with run_server_in_thread(require_nonce=True) as server:
        provider = IdentityProvider(f"http://localhost:{server.server_port}")
        server.app = _recording(server.app, provider.token_requests)
        yield provider


def _recording(app: Any, requests: list[dict[str, str]]) -> Callable[..., Iterable[bytes]]:
    """Wrap a WSGI application: record the forms that the token endpoint receives."""

    def record(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/oauth2/token":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            environ["wsgi.input"] = BytesIO(body)
            form = dict(parse_qsl(body.decode()))
            requests.append(form | {"auth": environ.get("HTTP_AUTHORIZATION", "")})
        answer: Iterable[bytes] = app(environ, start_response)
        return answer

    return record
