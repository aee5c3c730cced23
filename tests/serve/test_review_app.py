"""The server of the review page, and how it meets those who mean harm."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from spacy_sapbert.kb.ids import prefixes
from spacy_sapbert.outputs.pages import concept_url
from spacy_sapbert.review.corrections_file import CorrectionsFile, open_corrections
from spacy_sapbert.serve.review_app import MAX_BYTES, make_review_app
from spacy_sapbert.serve.review_session import ReviewSession
from spacy_sapbert.types import Document

from .conftest import EVIL

DECISION = {"action": "accept", "scope": "corpus"}
ADDITION = {"document": "k", "start": 0, "end": 4, "scope": "corpus"}
ANY = "mentions/0/decision?window=w"
ADD = "additions?window=w&number=0"
PATHS = [
    ("GET", ""),
    ("GET", "next?window=w"),
    ("GET", "mentions/0?window=w"),
    ("POST", ANY),
    ("POST", ADD),
    ("POST", "undo/1?window=w"),
    ("GET", "search?by=name&text=cold"),
    ("GET", "concepts?id=D003139"),
    ("GET", "openapi.json"),
    ("DELETE", "mentions/x"),
]


@pytest.fixture
def session(tmp_path, linking):
    texts = ["a cold", "hostile cystic fibrosis"]
    documents = [Document(f"{EVIL}{number}", text, position="here") for number, text in enumerate(texts)]
    records = list(linking(documents))
    for entity in records[0]["entities"]:
        entity["label"] = EVIL
    file = CorrectionsFile(tmp_path / "c.db", create=True)
    return ReviewSession(file, linking, records, corpus="notes", author=EVIL)


@pytest.fixture
def client(session):
    with TestClient(make_review_app(session), base_url="http://localhost") as client:
        yield client


@pytest.fixture
def ask(client, session):
    """A function that sends a request below the secret, and checks the headers of the answer."""

    def send(method, path, secret=None, **options):
        answer = client.request(
            method, f"/{session.file.secret if secret is None else secret}/{path}", follow_redirects=False, **options
        )
        assert_strict(answer)
        return answer

    return send


def assert_strict(answer):
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    for part in ("form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert "*" not in policy
    names = ("X-Content-Type-Options", "Referrer-Policy", "Cache-Control", "Cross-Origin-Resource-Policy")
    assert [answer.headers[name] for name in names] == ["nosniff", "no-referrer", "no-store", "same-origin"]


@pytest.mark.parametrize("secret", ["wrong", "", "%F0%9F%98%80", "%ED%A0%80"])
@pytest.mark.parametrize(("method", "path"), PATHS)
def test_a_wrong_secret_is_not_found(ask, session, secret, method, path):
    for content in (b"", b"{", b'{"action": "accept", "scope": "corpus"}'):
        answer = ask(method, path, secret, content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, session.file.secret in answer.text) == (404, False)
    assert session.file.state == (0, 0)


def test_no_secret(client, session):
    for path in ("/", "/docs", "/openapi.json", f"/x{session.file.secret}/", f"/{session.file.secret[:-1]}/", "//"):
        answer = client.get(path, follow_redirects=False)
        assert answer.status_code == 404
        assert_strict(answer)


def test_unknown_mentions(ask):
    for number in (3, -1, 10**30):
        assert ask("GET", f"mentions/{number}?window=w").status_code == 404
        assert ask("POST", f"mentions/{number}/decision?window=w", json=DECISION).status_code == 404
        assert ask("GET", f"next?window=w&later={number}").status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.2"])
def test_other_hosts_are_refused(ask, host):
    assert ask("GET", "", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (ANY, b""),
        (ANY, b"{"),
        (ANY, b"[]"),
        (ANY, b"null"),
        (ANY, b"[" * 100_000),
        (ANY, b'{"action": "add", "scope": "corpus"}'),
        (ANY, b'{"action": "accept", "scope": "world"}'),
        (ANY, b'{"action": "accept", "scope": "corpus", "seen": NaN}'),
        (ANY, b'{"action": "accept", "scope": "corpus", "comment": "\\ud800"}'),
        (ANY, b'{"action": "accept", "scope": "corpus", "comment": "' + b"x" * 501 + b'"}'),
        (ANY, b'{"action": "replace", "scope": "corpus", "concept_ids": [' + b'"D1",' * 20 + b'"D1"]}'),
        (ANY, b'{"action": "replace", "scope": "corpus", "concept_ids": [null]}'),
        (ANY, b'{"action": "replace", "scope": "corpus", "concept_ids": ["\\ud800"]}'),
        (ADD, b'{"document": "k", "start": 0, "end": 4, "scope": "corpus", "label": "\\ud800"}'),
        (ANY, b"\xff\xfe"),
        ("mentions/x/decision?window=w", b'{"action": "accept", "scope": "corpus"}'),
        ("mentions/0/decision", b'{"action": "accept", "scope": "corpus"}'),
        (ADD, b'{"document": "k", "start": -1, "end": 4, "scope": "corpus"}'),
        (ADD, b'{"document": "k", "start": Infinity, "end": 4, "scope": "corpus"}'),
        (ADD, b'{"document": "k", "start": 0, "end": 0, "scope": "corpus"}'),
    ],
)
def test_malformed_bodies(ask, session, path, body):
    answer = ask("POST", path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()
    assert session.file.state == (0, 0)


def test_a_long_body_is_refused_before_it_is_held_in_memory(ask, session):
    body = b'{"action": "accept", "scope": "corpus"' + b" " * MAX_BYTES + b"}"
    answer = ask("POST", ANY, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert session.file.state == (0, 0)


def test_a_form_of_another_page_decides_nothing(ask, session):
    body = b'{"action": "accept", "scope": "corpus"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        assert ask("POST", ANY, content=body, headers={"Content-Type": kind}).status_code == 422
    assert session.file.state == (0, 0)


def test_what_cannot_be_decided(ask, session):
    replace = {"action": "replace", "scope": "corpus"}
    for ids in (["X9"], ["D003550", ""]):
        assert "E504" in ask("POST", ANY, json={**replace, "concept_ids": ids}).json()["error"]
    assert "E406" in ask("POST", ANY, json=replace).json()["error"]
    for end in (10**30, 99):
        answer = ask("POST", ADD, json={**ADDITION, "end": end})
        assert (answer.status_code, "E406" in answer.json()["error"]) == (400, True)
    assert ask("POST", f"undo/{10**30}?window=w", json={}).json()["undone"] is False
    assert session.file.state == (0, 0)


def test_a_review(ask, session):
    first = ask("GET", "next?window=w").json()["view"]
    answer = ask("POST", f"mentions/{first['number']}/decision?window=w", json=DECISION).json()
    assert answer["correction"]["action"] in ("accept", "reject")
    assert answer["progress"]["decided"] == 1
    made = answer["correction"]["number"]
    assert ask("POST", f"undo/{made}?window=w", json={}).json()["undone"]
    sent = {**ADDITION, "document": session.queue.mentions[0].link.document, "start": 2, "end": 6}
    assert ask("POST", ADD, json=sent).json()["correction"]["text"] == "cold"
    assert ask("GET", "search?by=meaning&text=cold").json()["concepts"]
    assert ask("GET", "search?by=x&text=cold").status_code == 422


def test_what_another_window_decided_is_not_overwritten(ask, session):
    seen = ask("GET", "mentions/0?window=w").json()["view"]["decision"]
    assert seen is None
    other = session.decide(0, "no_mention")
    answer = ask("POST", ANY, json={**DECISION, "seen": None})
    assert answer.status_code == 409
    assert answer.json()["view"]["decision"]["number"] == other
    assert session.file.state == (1, 1)
    assert ask("POST", ANY, json={**DECISION, "seen": other}).status_code == 200
    assert session.file.state == (2, 2)


@pytest.fixture(params=["file", "database"])
def reviewers(request, linking, tmp_path):
    """Two reviewers in two processes, which share corrections: for each, the session and a function that sends."""
    is_file = request.param == "file"
    address = tmp_path / "c.db" if is_file else request.getfixturevalue("postgres")
    records = list(linking([Document("1", "cold " * 12, position="here")]))
    with ExitStack() as stack:
        pairs = []
        for author in ("Ann", "Ben"):
            file = open_corrections(address, create=True)
            session = ReviewSession(file, linking, records, corpus="notes", author=author)
            url = f"http://localhost/{file.secret}/"
            pairs.append((session, stack.enter_context(TestClient(make_review_app(session), base_url=url)).post))
        yield pairs


@pytest.mark.parametrize("kind", ["decision", "addition"])
def test_of_two_opposite_decisions_at_one_moment_the_second_is_refused(reviewers, kind, monkeypatch):
    (ann, post), (ben, _) = reviewers
    write, path = ann.file.add, ANY if kind == "decision" else ADD
    place = {"document": ann.queue.mentions[0].link.document, "start": 0, "end": 7, "scope": "occurrence"}

    def write_after_ben(*args, **options):
        monkeypatch.undo()
        ben.decide(0, "no_mention", scope="occurrence")  # after Ann's look, before her write
        return write(*args, **options)

    monkeypatch.setattr(ann.file, "add", write_after_ben)
    answer = post(path, json={**DECISION, "scope": "occurrence"} if kind == "decision" else place)
    assert answer.status_code == 409
    assert "Ben has decided" in answer.json()["error"]
    assert [correction.author for correction in ann.file.corrections().values()] == ["Ben"]
    again = {**DECISION, "seen": answer.json()["view"]["decision"]["number"]} if kind == "decision" else place
    assert post(path, json=again).status_code == 200


def test_reviewers_who_decide_the_same_mentions_at_the_same_time(reviewers):
    together = Barrier(2)

    def review(reviewer, action):
        session, post = reviewer
        answers = []
        for number in range(len(session.queue.mentions)):
            together.wait(30)
            sent = {"action": action, "scope": "occurrence", "seen": None}
            answers.append(post(f"mentions/{number}/decision?window={action}", json=sent).status_code)
        return answers

    with ThreadPoolExecutor(2) as pool:
        ann, ben = pool.map(review, reviewers, ("accept", "no_mention"))
    assert {tuple(sorted(pair)) for pair in zip(ann, ben, strict=True)} == {(200, 409)}


TEXTS = ("a cold", "cystic fibrosis, no cold", "a zebra and a cold")
step = st.tuples(
    st.sampled_from("AB"),
    st.integers(0, 4),
    st.sampled_from(["look", "accept", "reject", "no_mention", "undo", "add"]),
    st.sampled_from(["occurrence", "corpus", "everywhere"]),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(step, min_size=2, max_size=12))
def test_no_window_overwrites_what_another_one_decided(linking, steps):
    """Each window sends what it saw last. A review that begins anew shows what is right."""
    documents = [Document(str(number), text, position="here") for number, text in enumerate(TEXTS)]
    records = list(linking(documents))
    with TemporaryDirectory() as folder:
        file = CorrectionsFile(Path(folder) / "c.db", create=True)

        def review():
            return ReviewSession(file, linking, records, corpus="notes", author="Ann")

        session = review()
        mentions = session.queue.mentions
        client = TestClient(make_review_app(session), base_url=f"http://localhost/{file.secret}/")
        seen = {}
        for window, number, action, scope in steps:
            link = mentions[number].link
            present = review().view(number, "new")["decision"]
            shown_before = seen.get((window, number))
            sent = {"action": action, "scope": scope, "seen": shown_before}
            if action == "look":
                view = client.get(f"mentions/{number}?window={window}").json()["view"]
                assert view["decision"] == present
                seen[window, number] = present and present["number"]
            elif action == "undo":
                if present and present["number"]:
                    assert client.post(f"undo/{present['number']}?window={window}", json={}).json()["undone"]
            elif action == "add":
                place = {"document": link.document, "start": max(0, link.start - 2), "end": link.end, "scope": scope}
                before = file.corrections()
                answer = client.post(f"additions?window={window}&number={number}", json=place)
                assert answer.status_code == 200 or (answer.status_code, file.corrections()) == (409, before)
            else:
                before = file.corrections()
                answer = client.post(f"mentions/{number}/decision?window={window}", json=sent)
                is_overtaken = present is not None and present["number"] != shown_before
                assert answer.status_code == (409 if is_overtaken else 200)
                if is_overtaken:
                    assert file.corrections() == before
                    seen[window, number] = answer.json()["view"]["decision"]["number"]
            fresh = review()
            for other in range(len(mentions)):
                assert session.view(other, "new") == fresh.view(other, "new")


def test_hostile_texts_stay_texts(ask):
    page = ask("GET", "")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert EVIL not in page.text
    assert "alert(" in page.text
    assert page.text.count("<script>") == page.text.count("</script>") == 1
    assert "src=" not in page.text
    answer = ask("GET", "mentions/1?window=w")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json()["view"]["doc_id"] == f"{EVIL}1"


@pytest.mark.parametrize(
    "id", ["javascript:alert(1)", "JavaScript:x", "data:text/html,x", f"OMIM:{EVIL}", "//evil", "MESH:\n"]
)
def test_ids_never_become_other_links(ask, id):
    url = ask("GET", "concepts", params={"id": id}).json()["url"]
    assert url == concept_url(id)
    assert url is None or url.startswith("https://")
    assert not set("<>\"' \n").intersection(url or "")


def test_all_pages_of_concepts_are_web_pages():
    assert all(page.startswith(("https://", "http://")) for page in prefixes().pages.values())


def test_a_mention_stays_while_its_flags_are_mended(ask, session):
    flags = {"action": "flag", "scope": "corpus", "flags": ["negated", EVIL]}
    answer = ask("POST", ANY, json=flags).json()
    assert (answer["view"]["number"], answer["view"]["flags"], answer["view"]["decision"]) == (0, ["negated"], None)
    assert (answer["correction"]["flags"], answer["correction"]["scope"]) == (["negated"], "occurrence")
    assert ask("POST", ANY, json={**flags, "flags": ["x"] * 99}).status_code == 422
    assert len(session.file.corrections()) == 1
