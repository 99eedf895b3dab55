"""JSON Web Tokens: keys made here, published by a server on loopback."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from spillcache.errors import ArgumentsInvalid, IssuerUnavailable, Unauthorized
from spillcache.service.jwks import KeySet
from spillcache.service.jwts import JsonWebTokens

AUDIENCE, ISSUER = "spillcache", "https://issuer.example"
SigningKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

RSA_KEY = rsa.generate_private_key(65_537, 2048)  # making one takes a while; the tests only tell keys apart
MAKERS: dict[str, Callable[[], SigningKey]] = {
    "RS256": lambda: RSA_KEY,
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


class Issuer:
    """Publishes a key set on loopback. `asked` counts how often it was read; `broken` makes it fail.

    `raw` is sent in place of an answer.
    """

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = []
        self.asked = 0
        self.broken = False
        self.raw: bytes | None = None
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                if issuer.raw is not None:
                    self.wfile.write(issuer.raw)
                    return
                body = json.dumps({"keys": issuer.keys}).encode()
                self.send_response(302 if self.path == "/moved" else 500 if issuer.broken else 200)
                if self.path == "/moved":
                    self.send_header("Location", "/")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def publish(self, key: SigningKey, kid: str, algorithm: str, **others: str) -> None:
        """Add the public half of a key."""
        public: dict[str, Any] = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
        self.keys.append({**public, "kid": kid, "alg": algorithm, **others})


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """A running one without keys."""
    made = Issuer()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def clock() -> Clock:
    """At 0."""
    return Clock()


@pytest.fixture
def tokens(issuer: Issuer, clock: Clock) -> JsonWebTokens:
    """Tokens of that issuer, for us."""
    return _tokens(issuer.url, clock)


def _tokens(url: str, clock: Clock) -> JsonWebTokens:
    keys = KeySet(url, monotonic=clock)
    return JsonWebTokens(keys, tenant_claim="tenant", issuer=ISSUER, audience=AUDIENCE)


def _claims(**over: Any) -> dict[str, Any]:
    claims = {"tenant": "t", "sub": "agent", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 600} | over
    return {name: value for name, value in claims.items() if value is not None}


def _signed(key: SigningKey, kid: str | None = "k", algorithm: str = "RS256", **claims: Any) -> str:
    headers = {"kid": kid} if kid is not None else {}
    return jwt.encode(_claims(**claims), key, algorithm=algorithm, headers=headers)


@pytest.mark.parametrize("algorithm", MAKERS)
async def test_a_token_signed_by_a_published_key_names_its_tenant(
    issuer: Issuer, tokens: JsonWebTokens, algorithm: str
) -> None:
    """The set is read once for all tokens."""
    key = MAKERS[algorithm]()
    issuer.publish(key, "k", algorithm)
    for tenant in ("a", "b"):
        identity = await tokens.find(_signed(key, algorithm=algorithm, tenant=tenant))
        assert identity is not None
        assert identity.tenant == tenant
    assert issuer.asked == 1


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": int(time.time()) - 60},
        {"exp": None},
        {"aud": "somebody else"},
        {"aud": None},
        {"iss": "https://other.example"},
        {"iss": None},
        {"nbf": int(time.time()) + 600},
        {"tenant": None},
        {"tenant": ""},
        {"tenant": " "},
        {"tenant": 7},
        {"tenant": ["t"]},
        {"tenant": "x" * 257},
    ],
)
async def test_a_token_that_is_not_for_us_now_or_nobody_s_is_refused(
    issuer: Issuer, tokens: JsonWebTokens, claims: dict[str, Any]
) -> None:
    """Expired, endless, of another issuer or audience, or without a tenant: in the same words."""
    issuer.publish(RSA_KEY, "k", "RS256")
    with pytest.raises(Unauthorized, match="the credentials are not valid"):
        await tokens.find(_signed(RSA_KEY, **claims))


async def test_clocks_may_differ_a_little(issuer: Issuer, tokens: JsonWebTokens) -> None:
    """A token that has expired some seconds ago is good."""
    issuer.publish(RSA_KEY, "k", "RS256")
    assert await tokens.find(_signed(RSA_KEY, exp=int(time.time()) - 5)) is not None


def _by_hand(header: dict[str, Any], secret: bytes | None) -> str:
    """A token that no honest library signs."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, _claims())]
    signed = b".".join(parts)
    signature = hmac.digest(secret, signed, hashlib.sha256) if secret is not None else b""
    return (signed + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


async def test_the_published_key_is_not_a_password(issuer: Issuer, tokens: JsonWebTokens) -> None:
    """HS256 keyed with the public key, in each form it is written in, and no signature at all: refused."""
    issuer.publish(RSA_KEY, "k", "RS256")
    public = RSA_KEY.public_key()
    secrets_ = [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(issuer.keys[0]).encode(),
    ]
    forged = [_by_hand({"alg": "HS256", "kid": "k"}, secret) for secret in secrets_]
    forged += [_by_hand({"alg": alg, "kid": "k"}, None) for alg in ("none", "None", "RS256", "ES256")]
    for token in forged:
        with pytest.raises(Unauthorized):
            await tokens.find(token)


async def test_a_shared_secret_in_the_set_signs_nothing(issuer: Issuer, tokens: JsonWebTokens) -> None:
    """Symmetric keys, and those for encryption, are passed over."""
    secret = secrets.token_bytes(32)
    encoded = base64.urlsafe_b64encode(secret).rstrip(b"=").decode()
    issuer.keys = [{"kty": "oct", "k": encoded, "kid": "k", "alg": "HS256"}]
    issuer.publish(RSA_KEY, "enc", "RS256", use="enc")
    for token in (_by_hand({"alg": "HS256", "kid": "k"}, secret), _signed(RSA_KEY, "enc"), _signed(RSA_KEY, None)):
        with pytest.raises(Unauthorized):
            await tokens.find(token)


async def test_a_key_s_algorithm_is_its_own(issuer: Issuer, tokens: JsonWebTokens) -> None:
    """A token that claims another one for the same key id is refused."""
    issuer.publish(RSA_KEY, "k", "RS256")
    other = ec.generate_private_key(ec.SECP256R1())
    with pytest.raises(Unauthorized):
        await tokens.find(_signed(other, algorithm="ES256"))


async def test_without_a_key_id_the_only_key_counts(issuer: Issuer, tokens: JsonWebTokens) -> None:
    """Of several, none is guessed."""
    issuer.publish(RSA_KEY, "k", "RS256")
    assert await tokens.find(_signed(RSA_KEY, None)) is not None
    issuer.publish(ed25519.Ed25519PrivateKey.generate(), "l", "EdDSA")
    others = JsonWebTokens(KeySet(issuer.url), tenant_claim="tenant", issuer=ISSUER, audience=AUDIENCE)
    with pytest.raises(Unauthorized):
        await others.find(_signed(RSA_KEY, None))


async def test_a_new_key_is_found_at_most_once_a_minute(issuer: Issuer, tokens: JsonWebTokens, clock: Clock) -> None:
    """An unknown key id reads the set again; made-up ones do not make it a load."""
    issuer.publish(RSA_KEY, "old", "RS256")
    assert await tokens.find(_signed(RSA_KEY, "old")) is not None
    new = ed25519.Ed25519PrivateKey.generate()
    issuer.publish(new, "new", "EdDSA")
    for clock.now in (1.0, 30.0, 59.0):
        with pytest.raises(Unauthorized):
            await tokens.find(_signed(new, "new", "EdDSA"))
    assert issuer.asked == 1
    clock.now = 60.0
    assert await tokens.find(_signed(new, "new", "EdDSA")) is not None
    for number in range(20):
        with pytest.raises(Unauthorized):
            await tokens.find(_signed(RSA_KEY, f"made up {number}"))
    assert issuer.asked == 2


async def test_an_issuer_that_is_down_is_not_said_to_be_a_bad_credential(
    issuer: Issuer, tokens: JsonWebTokens, clock: Clock
) -> None:
    """503 and to be tried again; it is asked again after some seconds."""
    issuer.publish(RSA_KEY, "k", "RS256")
    issuer.broken = True
    for clock.now in (0.0, 1.0):
        with pytest.raises(IssuerUnavailable) as caught:
            await tokens.find(_signed(RSA_KEY))
        assert (caught.value.http_status, caught.value.retryable) == (503, True)
    assert issuer.asked == 1
    issuer.broken, clock.now = False, 5.0
    assert await tokens.find(_signed(RSA_KEY)) is not None


async def test_known_keys_outlive_an_outage_of_the_issuer(issuer: Issuer, tokens: JsonWebTokens, clock: Clock) -> None:
    """For an hour, and nobody waits for it meanwhile; then they no longer count."""
    issuer.publish(RSA_KEY, "k", "RS256")
    assert await tokens.find(_signed(RSA_KEY)) is not None
    issuer.broken, clock.now = True, 3_599.0
    assert await tokens.find(_signed(RSA_KEY)) is not None
    clock.now = 3_600.0
    with pytest.raises(IssuerUnavailable):
        await tokens.find(_signed(RSA_KEY))


async def test_a_key_that_is_withdrawn_stops_counting(issuer: Issuer, tokens: JsonWebTokens, clock: Clock) -> None:
    """After five minutes the set is read again, aside."""
    issuer.publish(RSA_KEY, "k", "RS256")
    assert await tokens.find(_signed(RSA_KEY)) is not None
    issuer.keys, clock.now = [], 300.0
    assert await tokens.find(_signed(RSA_KEY)) is not None
    await _refused_soon(tokens)
    assert issuer.asked == 2


async def _refused_soon(tokens: JsonWebTokens) -> None:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        await asyncio.sleep(0)  # a turn of the loop, in which the set is read
        try:
            await tokens.find(_signed(RSA_KEY))
        except Unauthorized:
            return
    raise AssertionError("the key still counts")


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not http at all\r\n\r\n",
        OK + b"Content-Length: 100\r\n\r\n{",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"x: " + b"y" * 70_000 + b"\r\n\r\n",
        OK + b"x: y\r\n" * 200 + b"\r\n",
        OK + b"\r\n" + b"[" * 100_000,
        OK + b'\r\n{"keys": ' + b'{"a":' * 100_000,
    ],
    ids=["closed", "no http", "cut", "bad chunk", "long header", "many headers", "deep", "deep keys"],
)
async def test_an_issuer_that_breaks_off_or_talks_nonsense_is_one_that_is_down(
    issuer: Issuer, tokens: JsonWebTokens, clock: Clock, raw: bytes
) -> None:
    """Over a real connection: a typed error, and when it has come to its senses, its keys."""
    issuer.publish(RSA_KEY, "k", "RS256")
    issuer.raw = raw
    with pytest.raises(IssuerUnavailable):
        await tokens.find(_signed(RSA_KEY))
    issuer.raw, clock.now = None, 5.0
    assert await tokens.find(_signed(RSA_KEY)) is not None


@pytest.mark.parametrize(
    "bad",
    [
        {"kid": ["k"]},
        {"kid": {}},
        {"kty": ["RSA"]},
        {"n": 7},
        {"n": "AA", "e": "AA"},
        {"e": None},
        {"alg": ["RS256"]},
        {"alg": "none"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "alg": "ES256"},
        {"kty": "OKP", "crv": "Ed25519", "x": "!", "alg": "EdDSA"},
    ],
)
async def test_a_bad_key_is_passed_over_alone(issuer: Issuer, tokens: JsonWebTokens, bad: dict[str, Any]) -> None:
    """The others of its set sign as ever."""
    issuer.publish(RSA_KEY, "bad", "RS256")
    issuer.keys[0] |= bad
    issuer.publish(RSA_KEY, "k", "RS256")
    assert await tokens.find(_signed(RSA_KEY)) is not None
    with pytest.raises(Unauthorized):
        await tokens.find(_signed(RSA_KEY, "bad"))


async def test_a_token_whose_header_nests_without_end_is_none(tokens: JsonWebTokens) -> None:
    """It is short, and reading it must not be what fails."""
    header = base64.urlsafe_b64encode(b'{"alg":' + b"[" * 8_000).rstrip(b"=").decode()
    assert await tokens.find(f"{header}.e30.e30") is None


@pytest.mark.parametrize(
    "text", [b"", b"[]", b'{"keys": 1}', b"\xff", b'{"keys": [1, {"kty": "RSA"}]}', b"x" * (1 << 20)]
)
async def test_what_is_no_key_set_signs_nothing(text: bytes) -> None:
    """Whatever it is; nothing but a typed error comes of it."""
    keys = KeySet("https://issuer.example/jwks", fetch=lambda url: text, monotonic=Clock())
    with pytest.raises((Unauthorized, IssuerUnavailable)):
        await keys.key("k")


async def test_a_redirect_is_not_followed(issuer: Issuer, clock: Clock) -> None:
    """The operator named an address; another may be anybody's."""
    issuer.publish(RSA_KEY, "k", "RS256")
    with pytest.raises(IssuerUnavailable):
        await _tokens(issuer.url + "moved", clock).find(_signed(RSA_KEY))


def test_keys_come_over_http(clock: Clock) -> None:
    """A file's address is refused at the start."""
    for url in ("file:///etc/passwd", "https://", "http://[::1"):
        with pytest.raises(ArgumentsInvalid, match="http"):
            KeySet(url, monotonic=clock)


def test_keys_do_not_come_in_the_clear_from_another_machine() -> None:
    """Whoever is on the way there could sign as they like."""
    for url in ("http://issuer.example/jwks", "http://10.0.0.7/jwks", "http://localhost.example/jwks"):
        with pytest.raises(ArgumentsInvalid, match="http:") as caught:
            KeySet(url)
        assert "SPILLCACHE_JWKS_URL" in caught.value.next_step


@pytest.mark.parametrize("token", ["opaque", "a.b", "a.b.c", "..", "a.b.c.d"])
async def test_what_is_no_web_token_may_be_another_kind(tokens: JsonWebTokens, token: str) -> None:
    """Other sources are asked; the issuer is not."""
    assert await tokens.find(token) is None
