"""A SAML identity provider. It signs with libxmlsec, while the product verifies with other code."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zlib import decompress

import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from lxml import etree

from kmapp.accounts.company_sign_in.saml import BEARER, NAMES, SUCCESS

ISSUER = "https://saml.test/idp"
SIGN_IN_URL = "https://saml.test/sign-in"
RESPONSE = """
<p:Response xmlns:p="{p}" xmlns:a="{a}" ID="_response" Version="2.0" IssueInstant="{now}"
    Destination="{acs}" InResponseTo="{request}">
  <a:Issuer>{issuer}</a:Issuer>
  <p:Status><p:StatusCode Value="{status}"/></p:Status>
  <a:Assertion ID="_assertion" Version="2.0" IssueInstant="{now}">
    <a:Issuer>{issuer}</a:Issuer>
    <a:Subject>
      <a:NameID Format="{name_format}">{subject}</a:NameID>
      <a:SubjectConfirmation Method="{method}">
        <a:SubjectConfirmationData InResponseTo="{request}" Recipient="{acs}" NotOnOrAfter="{end}"/>
      </a:SubjectConfirmation>
    </a:Subject>
    <a:Conditions NotBefore="{now}" NotOnOrAfter="{end}">
      <a:AudienceRestriction><a:Audience>{audience}</a:Audience></a:AudienceRestriction>
    </a:Conditions>
    <a:AuthnStatement AuthnInstant="{now}"/>
    <a:AttributeStatement>
      <a:Attribute Name="urn:oid:0.9.2342.19200300.100.1.3" FriendlyName="mail">
        <a:AttributeValue>{email}</a:AttributeValue>
      </a:Attribute>
      <a:Attribute Name="displayName"><a:AttributeValue>Noor</a:AttributeValue></a:Attribute>
      <a:Attribute Name="groups">{groups}</a:Attribute>
    </a:AttributeStatement>
  </a:Assertion>
</p:Response>
"""
Change = Callable[[Any], object]


def parse_request(url: str) -> dict[str, str]:
    """Return what a request of the HTTP-Redirect binding contains."""
    [packed] = parse_qs(urlsplit(url).query)["SAMLRequest"]
    root = etree.fromstring(decompress(b64decode(packed), -15))
    audience = root.findtext("a:Issuer", namespaces=NAMES)
    acs = root.get("AssertionConsumerServiceURL")
    return {"request": root.get("ID"), "acs": acs, "audience": str(audience)}


@dataclass
class SAMLProvider:
    key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048)
    )

    @property
    def certificate(self) -> str:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "saml.test")])
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(name, name, self.key.public_key(), 1)
        builder = builder.not_valid_before(now - timedelta(days=1))
        signed = builder.not_valid_after(now + timedelta(days=1)).sign(self.key, SHA256())
        return signed.public_bytes(Encoding.PEM).decode()

    def respond(
        self,
        url: str,
        *,
        groups: Sequence[str] = ("staff",),
        signs: str = "Assertion",
        algorithm: Any = xmlsec.constants.TransformRsaSha256,
        before: Change | None = None,
        after: Change | None = None,
        **values: str,
    ) -> str:
        """Answer a request. `before` and `after` change the document before and after signing."""
        now = datetime.now(UTC)
        stated = {
            **NAMES,
            **parse_request(url),
            "now": f"{now:%Y-%m-%dT%H:%M:%S}.1234567Z",
            "end": f"{now + timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}",
            "issuer": ISSUER,
            "status": SUCCESS,
            "method": BEARER,
            "subject": "s-1",
            "name_format": "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
            "email": "noor@acme.test",
            "groups": "".join(f"<a:AttributeValue>{each}</a:AttributeValue>" for each in groups),
        }
        root = etree.fromstring(RESPONSE.format(**(stated | values)).strip())
        if before:
            before(root)
        if signs:
            self._sign(root if signs == "Response" else root.find("a:Assertion", NAMES), algorithm)
        if after:
            after(root)
        return b64encode(etree.tostring(root)).decode()

    def _sign(self, element: Any, algorithm: Any) -> None:
        xmlsec.tree.add_ids(element, ["ID"])
        signature = xmlsec.template.create(element, xmlsec.constants.TransformExclC14N, algorithm)
        element.insert(1, signature)
        reference = xmlsec.template.add_reference(
            signature, xmlsec.constants.TransformSha256, uri=f"#{element.get('ID')}"
        )
        xmlsec.template.add_transform(reference, xmlsec.constants.TransformEnveloped)
        xmlsec.template.add_transform(reference, xmlsec.constants.TransformExclC14N)
        context = xmlsec.SignatureContext()
        pem = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        context.key = xmlsec.Key.from_memory(pem, xmlsec.constants.KeyDataFormatPem)
        context.sign(signature)
