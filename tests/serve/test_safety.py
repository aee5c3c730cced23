"""Who is answered, and what a browser may do with the answer."""

import json
from base64 import b64encode

import pytest

TOKEN = "0123456789abcdef-right"


def basic(password, user="anyone"):
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture(scope="module")
def locked(linking):
    from .conftest import Running

    with Running(linking, token=TOKEN) as server:
        yield server


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(TOKEN), basic(TOKEN, "")])
def test_the_token_opens_all(locked, given):
    for path in ("/", "/openapi.json", "/metrics"):
        assert locked.ask("GET", path, Authorization=given)[0] == 200
    assert locked.ask("POST", "/link", '{"text": "CF"}', Authorization=given)[0] == 200


@pytest.mark.parametrize(
    "given",
    [
        *("", "Bearer", "Bearer ", "Bearer \xe9", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN, f"Digest {TOKEN}"),
        *("Basic ?", "Basic ", basic(""), basic("wrong"), basic(TOKEN[:-1])),
        f"Basic {b64encode(TOKEN.encode()).decode()}",
    ],
)
def test_without_the_token_nothing_is_linked(locked, given):
    for method, path in (("GET", "/"), ("GET", "/metrics"), ("GET", "/none"), ("POST", "/link")):
        status, headers, body = locked.ask(method, path, Authorization=given)
        assert status == 401
        assert [value.split()[0] for value in headers.get_all("WWW-Authenticate")] == ["Basic", "Bearer"]
        assert "token" in json.loads(body)["error"]
        assert headers["Content-Security-Policy"]


def test_health_needs_no_token(locked):
    assert (locked.ask("GET", "/health")[0], locked.ask("GET", "/ready")[0]) == (200, 200)


def test_another_host_is_refused_before_the_token_is_looked_at(locked):
    assert locked.ask("GET", "/", Host="rebound.example", Authorization=f"Bearer {TOKEN}")[0] == 400


def test_only_pages_may_have_a_style(running):
    for path in ("/health", "/openapi.json", "/none"):
        policy = running.ask("GET", path)[1]["Content-Security-Policy"]
        assert policy == "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    policy = running.ask("GET", "/")[1]["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
