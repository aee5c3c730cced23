"""The page that describes the endpoints."""

import re

from spacy_sapbert.serve.api import render_api

EVIL = "<script>alert('1')</script>\"'>"


def test_it_shows_every_endpoint_and_model(ask):
    status, _, page = ask("GET", "/docs")
    assert status == 200
    shown = re.findall(r'<span class="method">(\w+)</span> (\S+)</h2>', page)
    assert shown == [("POST", "/link"), ("POST", "/batch"), ("GET", "/health"), ("GET", "/ready"), ("GET", "/metrics")]
    assert set(re.findall(r'href="#(\w+)"', page)) <= set(re.findall(r'<section id="(\w+)"', page))
    assert "Send a list of objects as JSON" in page
    assert "The text. Required." in page
    assert "list of <a" not in page or "list of Entity" in page


def test_it_loads_nothing(ask):
    _, _, page = ask("GET", "/docs")
    assert set(re.findall(r'(?:src|href)="([^"#]+)"', page)) == {"data:,", "./", "openapi.json"}
    assert "<script" not in page
    assert "style=" not in page


def test_nothing_hostile_becomes_markup():
    schema = {"type": "object", "description": EVIL, "properties": {EVIL: {"type": EVIL, "description": EVIL}}}
    answers = {EVIL: {"description": EVIL, "content": {"application/json": {"schema": {"$ref": EVIL}}}}}
    body = {"content": {"application/json": {"schema": schema}}}
    operation = {"summary": EVIL, "requestBody": body, "responses": answers}
    openapi = {
        "info": {"title": EVIL, "version": EVIL, "description": EVIL},
        "paths": {EVIL: {EVIL: operation}},
        "components": {"schemas": {EVIL: schema}},
    }
    page = render_api(openapi)
    assert "<script>" not in page.lower()
    assert page.count("alert(&#39;1&#39;)") + page.count("ALERT(&#39;1&#39;)") > 10
