import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.review.corrections import Correction, document_key
from spacy_sapbert.review.corrections_file import open_corrections
from spacy_sapbert.review.export import review_report
from spacy_sapbert.review.queue import by_document
from spacy_sapbert.serve import review_session as session_module
from spacy_sapbert.serve.review_session import ReviewSession
from spacy_sapbert.types import Document

TEXT = "cold and zebra. cystic fibrosis"


def last(session):
    return list(session.file.corrections().values())[-1]


def shown(session, number):
    return session.view(number, "w")


def pieces(view):
    return [one["text"] for one in view["pieces"] if "state" in one]


def test_decisions(start):
    session = start(TEXT, order=by_document)
    cold = session.queue.mentions[0].best
    for action, ids, wanted in (
        ("accept", (), ("accept", cold)),
        ("replace", ("OMIM:219700", "D003550"), ("replace", ("D003550",))),
        ("reject", (), ("reject", cold)),
        ("no_mention", (), ("no_mention", ())),
    ):
        number = session.decide(0, action, concept_ids=ids, comment="why")
        found = last(session)
        assert (found.action, found.concept_ids) == wanted
        assert found[1:6] == ("corpus", document_key(TEXT), 0, 4, "cold")
        assert (found.author, found.comment, found.label) == ("Ann", "why", "")
        assert session.correction(number)["action"] == action
    assert session.mention_of(number) == 0
    assert session.mention_of(99) is None


def test_accepting_that_there_is_no_link(start):
    session = start(TEXT, order=by_document)
    one = session.queue.mentions[1]
    assert one.link.concept_ids == ()
    session.decide(1, "accept")
    assert (last(session).action, last(session).concept_ids) == (("reject", one.best) if one.best else ("add", ()))
    assert session.queue.decision(1) is not None
    session.queue.mentions[1] = one._replace(best=(), link=one.link._replace(document="k2"))
    session.decide(1, "accept")
    assert (last(session).action, last(session).concept_ids) == ("add", ())
    session.queue.mentions[1] = one._replace(best=("D003139",), link=one.link._replace(document="k3"))
    session.decide(1, "accept")
    assert (last(session).action, last(session).concept_ids) == ("reject", ("D003139",))


def test_flags_are_shown_and_mended(start, linking):
    session = start(TEXT, order=by_document)
    assert (shown(session, 0)["flags"], shown(session, 0)["all_flags"]) == ([], [])  # nothing looks for them
    (record,) = linking([Document("d0", TEXT)])
    context = {"assertion": ["negated"], "section": "family history", "drug_state": "stopped"}
    records = [{**record, "entities": [{**one, **context} for one in record["entities"]]}]
    session = ReviewSession(session.file, linking, records, corpus="notes", author="Ann", order=by_document)
    view = shown(session, 0)
    assert (view["flags"], view["section"], view["drug_state"], view["dosage"]) == (
        ["negated"],
        "family history",
        "stopped",
        "",
    )
    assert view["all_flags"] == ["negated", "uncertain", "family", "historical", "hypothetical"]
    number = session.decide(0, "flag", flags=["family", "uncertain"])
    assert (last(session)[:2], last(session).flags) == (("flag", "occurrence"), ("uncertain", "family"))
    assert (shown(session, 0)["flags"], shown(session, 0)["decision"]) == (["uncertain", "family"], None)
    assert session.next("w") == 0  # its concept is still open
    session.decide(0, "flag")
    assert (shown(session, 0)["flags"], last(session).label) == ([], "none")
    session.undo(number + 1)
    session.undo(number)
    assert shown(session, 0)["flags"] == ["negated"]
    assert shown(session, 1)["flags"] == ["negated"]


def test_missed_mentions(start):
    session = start(TEXT + " flu, and flu")
    key = document_key(TEXT + " flu, and flu")
    session.add(key, 32, 35, label="Disease")
    assert (last(session).text, last(session).concept_ids, last(session).label) == ("flu", (), "Disease")
    assert [one["text"] for one in shown(session, 0)["pieces"] if one.get("state") == "added"] == ["flu", "flu"]
    for place in ((40, 46), (-3, 2), (5, 5), (9, 3), (0, 10**30), (31, 32)):
        with pytest.raises(SapbertError, match="E406"):
            session.add(key, *place)
    with pytest.raises(SapbertError, match="E406"):
        session.add("unknown", 0, 3)
    with pytest.raises(SapbertError, match="E504"):
        session.add(key, 0, 3, concept_ids=["X9"])
    assert len(session.file.corrections()) == 1


def test_blind_reviewers_see_their_own_decisions_only(start):
    ann = start(TEXT, author="Ann")
    number = ann.decide(0, "accept")
    assert start(TEXT, author="Bob").queue.decision(0) is not None
    bob = start(TEXT, author="Bob", blind=True)
    assert bob.queue.decision(0) is None
    assert bob.progress()["recent"] == []
    assert shown(bob, 0)["decision"] is None
    assert bob.mention_of(number) is None
    bob.decide(0, "no_mention")
    assert bob.queue.decision(0).is_no_mention
    assert start(TEXT, author="Ann", blind=True).queue.decision(0).concept_ids


def test_windows_get_different_mentions(start, monkeypatch):
    session = start("cold", "a cold", "aspirin", order=by_document)
    now = [0.0]
    monkeypatch.setattr(session_module.time, "monotonic", lambda: now[0])
    assert session.next("one") == 0
    session.view(0, "one")
    assert session.next("one") == 0
    assert session.next("two") == 2  # not the other mention of the same text
    session.view(2, "two")
    assert session.next("three") == 0  # none is left
    now[0] = session_module.LEASE + 1
    assert session.next("two") == 0


def test_later(start):
    session = start("cold", "aspirin", order=by_document)
    assert session.next("one", later=0) == 1
    assert session.next("two") == 0
    assert session.next("one", later=1) == 0  # all were put off, so from the beginning
    session.decide(0, "accept")
    session.decide(1, "accept")
    assert session.next("one") is None


def test_machines_that_share_a_database(start, postgres):
    texts = ("cold", "a cold", "aspirin")
    ann, ben = (start(*texts, author=name, file=open_corrections(postgres, create=True)) for name in ("Ann", "Ben"))
    first, other = ann.next("a"), ben.next("b")
    assert ann.queue.key(first) != ben.queue.key(other)
    ann.decide(first, "accept")
    ben.decide(other, "no_mention")
    assert [session.next("c") for session in (ann, ben)] == [None, None]
    assert review_report(ben.file)["corrections"]["author"] == {"Ann": 1, "Ben": 1}


def test_undo_and_other_windows(start, linking):
    session, other = start("cold"), start("cold")
    number = session.decide(0, "accept")
    assert shown(other, 0)["decision"]["number"] == number
    assert other.undo(number)
    assert not session.undo(number)
    assert session.next("w") == 0
    assert session.progress() == {"decided": 0, "mentions": 1, "texts": 1, "recent": []}


def test_the_shown_decision_is_that_of_the_text(start):
    session = start("cold", "aspirin", order=by_document)
    best = session.queue.mentions[0].best
    number = session.decide(0, "reject")
    session.file.add([Correction("reject", "everywhere", document_key("aspirin"), 0, 7, "aspirin", best)])
    assert shown(session, 0)["decision"]["number"] == number


def test_another_vocabulary(start, file):
    file.add([Correction("accept", "everywhere", "k", 0, 4, "cold", ("X9",))])
    with pytest.raises(SapbertError, match=r"E305.*1 concepts.*X9"):
        start("cold")
    assert not list(file.links())
    file.add([Correction("accept", "everywhere", "k", 0, 4, "cold", ("D003139",))])
    start("cold")


def test_a_document_whose_text_changed(start):
    start("a cold").decide(0, "accept", scope="occurrence")
    session = start("an aspirin", "a cold.")
    assert session.progress()["decided"] == 0
    assert start("a cold").progress()["decided"] == 1


def test_long_documents_are_cut(start, monkeypatch):
    monkeypatch.setattr(session_module, "REACH", 12)
    text = "\U0001f600 e\u0301 cold " * 6
    session = start(text, order=by_document)
    for number, one in enumerate(session.queue.mentions):
        view = shown(session, number)
        whole = "".join(piece["text"] for piece in view["pieces"])
        first = max(0, one.link.start - 12)
        assert (view["start"], whole) == (first, text[first : one.link.end + 12])
        assert view["is_cut"] == [first > 0, one.link.end + 12 < len(text)]
        current = [piece for piece in view["pieces"] if piece.get("number") == number]
        assert [piece["text"] for piece in current] == ["cold"]
        before = "".join(piece["text"] for piece in view["pieces"][: view["pieces"].index(current[0])])
        assert view["start"] + len(before) == one.link.start


def test_overlapping_mentions_are_marked_once(start):
    session = start("breast and ovarian cancer", "cold")
    session.add(document_key("breast and ovarian cancer"), 11, 25, scope="occurrence")
    assert pieces(shown(session, 0)) == ["breast and ovarian cancer"]


def test_an_added_mention_is_marked_before_those_that_it_overlaps(start):
    text = "cold, then severe cystic fibrosis"
    session = start(text)
    session.add(document_key(text), 11, 33, scope="occurrence")
    assert pieces(shown(session, 0)) == ["cold", "severe cystic fibrosis"]


@pytest.mark.parametrize(
    "text", ["", " ", "!!!", '"', "*", "cold OR NOT", "'; DROP", "\0", "\U0001f600", "<b>", "x" * 999]
)
def test_hostile_searches(start, text):
    session = start("cold")
    for by_meaning in (True, False):
        assert all(one["id"] for one in session.search(text, by_meaning=by_meaning))


def test_candidates_are_those_of_the_text_that_was_looked_up(start):
    session = start("cystic fibrosis (CF), breast and ovarian cancer", order=by_document)
    texts = []
    session._candidates = lambda text, k: texts.append(text) or []
    views = [shown(session, number) for number in range(3)]
    assert [view["text"] for view in views] == ["cystic fibrosis", "CF", "breast and ovarian cancer"]
    assert texts == ["cystic fibrosis", "cystic fibrosis", "breast and ovarian cancer"]


def test_candidates_that_are_linked_are_left_out(start):
    session = start("cold", order=by_document)
    assert session.queue.mentions[0].best == ("D003139",)
    ids = [candidate["id"] for candidate in shown(session, 0)["candidates"]]
    assert "D003080" in ids
    assert "D003139" not in ids
    assert len(ids) == len(set(ids)) <= session_module.CANDIDATES


def test_search(start):
    session = start("cold")
    assert session.search("OMIM:219700", by_meaning=False)[0]["id"] == "D003550"
    assert session.search("cystic", by_meaning=False)[0]["name"] == "Cystic Fibrosis"
    assert session.search("cystic fibrosis", by_meaning=True)[0]["id"] == "D003550"
    card = session.concept("javascript:alert(1)")
    assert (card["id"], card["url"], card["name"]) == ("javascript:alert(1)", None, "javascript:alert(1)")
    assert session.concept("D001943")["parents"] == ["Neoplasms"]
