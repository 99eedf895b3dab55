"""A server behind TLS, with certificates made on the spot.

No server in a wheel is built with TLS, so a relay in this process ends the TLS connection in front of one:
what the client does (handshake, verification, bytes in records) is real on every machine.
"""

from __future__ import annotations

import ipaddress
import selectors
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.servers.process import ServerProcess

_RELAY_BYTES = 65_536

# Python 3.13 verifies strictly: an authority must say that it may sign.
_ISSUES_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files: the authority to trust, and the server's certificate and key."""

    authority: Path
    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class TlsServer:
    """A server reachable through TLS only by `url`; `plain` is the server behind."""

    plain: ServerProcess
    port: int
    certificates: Certificates

    @property
    def url(self) -> str:
        """A client's URL, with the authority to trust. The host is the address, not a name."""
        return f"rediss://127.0.0.1:{self.port}?ssl_ca_certs={self.certificates.authority}"


@contextmanager
def tls(server: ServerProcess, certificates: Certificates) -> Iterator[TlsServer]:
    """Relay TLS connections on a free loopback port to `server`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with (
                suppress(OSError),  # either side may hang up at any time; so may a client that distrusts us
                context.wrap_socket(self.request, server_side=True) as outer,
                socket.create_connection(("127.0.0.1", server.port)) as inner,
            ):
                _relay(outer, inner)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as relay:
        relay.daemon_threads = True
        thread = threading.Thread(target=relay.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield TlsServer(server, relay.server_address[1], certificates)
        finally:
            relay.shutdown()
            thread.join()


def make_certificates(
    directory: Path, *, names: Sequence[str] = ("localhost",), addresses: Sequence[str] = ("127.0.0.1",)
) -> Certificates:
    """Write an authority and a server certificate valid for `names` and `addresses`, for one day."""
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("test authority", authority_key, "test authority", authority_key, None)
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
    alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    server = _certificate("test server", server_key, "test authority", authority_key, alternatives)
    made = Certificates(directory / "ca.pem", directory / "server.pem", directory / "server.key")
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        server_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return made


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    alternatives: list[x509.GeneralName] | None,
) -> x509.Certificate:
    now = datetime.now(UTC)
    is_authority = alternatives is None
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if alternatives is None:
        builder = builder.add_extension(_ISSUES_CERTIFICATES, critical=True)
    else:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _relay(outer: ssl.SSLSocket, inner: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(outer, selectors.EVENT_READ, inner)
        selector.register(inner, selectors.EVENT_READ, outer)
        while True:
            for key, _ in selector.select():
                source, target = key.fileobj, key.data
                assert isinstance(source, socket.socket)
                data = source.recv(_RELAY_BYTES)
                if not data:
                    return
                target.sendall(data)
                # Bytes that TLS has already decrypted do not make the socket readable again.
                while isinstance(source, ssl.SSLSocket) and source.pending():
                    target.sendall(source.recv(source.pending()))
