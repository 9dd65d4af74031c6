"""TLS in front of a Unix socket, with certificates of its own: the embedded servers have no TLS."""

import select
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

SSL_REQUEST = struct.pack("!ii", 8, 80877103)  # of PostgreSQL, before the handshake
CHUNK = 65_536


def make_certificate(folder: Path, name: str) -> Path:
    """Write a self-signed certificate of a name or an address with its key; return the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([_general_name(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = folder / f"{name}.pem"
    file.write_bytes(certificate.public_bytes(Encoding.PEM) + secret)
    return file


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@contextmanager
def terminate_tls(
    target: Path, certificate: Path, *, postgres: bool, address: str = "127.0.0.1"
) -> Iterator[int]:
    """Serve a Unix socket over TLS on an address of this host; yield the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener = socket.create_server((address, 0))

    def accept() -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = listener.accept()
                arguments = (client, context, target, postgres)
                threading.Thread(target=_serve, args=arguments, daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _serve(client: socket.socket, context: ssl.SSLContext, target: Path, postgres: bool) -> None:  # noqa: FBT001
    with suppress(OSError), client, socket.socket(socket.AF_UNIX) as server:
        while postgres and client.recv(8) != SSL_REQUEST:
            client.sendall(b"N")  # no GSSAPI
        if postgres:
            client.sendall(b"S")
        with context.wrap_socket(client, server_side=True) as secure:
            server.connect(str(target))
            while _relay(secure, server):
                pass


def _relay(secure: ssl.SSLSocket, server: socket.socket) -> bool:
    """Pass on what has arrived; return False at the end of either connection."""
    ready = [secure] if secure.pending() else select.select([secure, server], [], [])[0]
    for source, target in ((secure, server), (server, secure)):
        if source in ready:
            if not (data := source.recv(CHUNK)):
                return False
            target.sendall(data)
    return True
