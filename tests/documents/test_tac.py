from functools import partial
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.reader import guess_format, read_corpus
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Mention

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
SECTIONS = {"S1": "\n  Pain and severe\n  rash; liver or renal failure.\n", "S2": "Rash & pain."}


def mention(number, section, start, length, string, type="AdverseReaction"):
    attributes = {"id": f"M{number}", "section": section, "type": type, "start": start, "len": length, "str": string}
    return "<Mention " + " ".join(f"{key}={quoteattr(str(value))}" for key, value in attributes.items()) + "/>"


def reaction(string, *terms):
    inside = "".join("<Normalization " + " ".join(f'{k}="{v}"' for k, v in term.items()) + "/>" for term in terms)
    return f"<Reaction id='AR1' str={quoteattr(string)}>{inside}</Reaction>"


def pt(number):
    return {"meddra_pt": "Term", "meddra_pt_id": number}


def label(mentions=(), reactions=(), relations="", sections=SECTIONS, drug="Invented", head=HEAD):
    texts = "".join(f'<Section id="{name}" name="warnings">{escape(text)}</Section>' for name, text in sections.items())
    return (
        f'{head}<Label drug="{drug}" track="TAC2017_ADR"><Text>{texts}</Text><Mentions>{"".join(mentions)}</Mentions>'
        f"<Relations>{relations}</Relations><Reactions>{''.join(reactions)}</Reactions></Label>"
    )


@pytest.fixture
def read(read_reporting, tmp_path):
    return partial(read_reporting, tmp_path / "INVENTED.xml", "tac")


def test_offsets_are_those_of_sections_and_ids_those_of_reactions(read):
    mentions = [mention(1, "S2", 7, 4, "pain"), mention(2, "S1", 3, 4, "Pain"), mention(3, "S2", 0, 4, "Rash")]
    relation = '<Relation id="RL1" type="Negated" arg1="M1" arg2="M2"/>'
    (document,), report = read(label(mentions, [reaction("pain", pt("10000001"))], relation))
    text = SECTIONS["S1"] + "\n" + SECTIONS["S2"]
    start = len(SECTIONS["S1"]) + 1
    ids = ("MEDDRA:10000001",)
    expected = (
        Mention(3, 7, "Pain", "AdverseReaction", ids),
        Mention(start, start + 4, "Rash", "AdverseReaction"),
        Mention(start + 7, start + 11, "pain", "AdverseReaction", ids),
    )
    assert document[:3] == ("Invented", text, expected)
    assert (report.mentions, report.without_id, report.relations, report.broken, report.mismatched) == (3, 1, 1, 0, 0)


@pytest.mark.parametrize(
    ("terms", "ids"),
    [
        ([pt("1"), pt("2")], ("MEDDRA:1", "MEDDRA:2")),
        ([pt("1"), {**pt("1"), "meddra_llt_id": "5"}], ("MEDDRA:1",)),
        ([{"meddra_llt": "Term", "meddra_llt_id": "5"}], ("MEDDRA:5",)),
        ([{"flag": "unmapped"}], ()),
        ([{**pt("1"), "flag": "HLT"}], ("MEDDRA:1",)),
        ([], ()),
    ],
)
def test_a_reaction_has_the_preferred_terms_of_its_normalizations(read, terms, ids):
    (document,), report = read(label([mention(1, "S2", 0, 4, "Rash")], [reaction("rash", *terms)]))
    assert document.mentions[0].ids == ids
    assert (report.without_id, report.unplaced) == (not ids, 0)


def test_only_adverse_reactions_have_the_ids_of_reactions(read):
    (document,), report = read(label([mention(1, "S2", 0, 4, "Rash", "Factor")], [reaction("rash", pt("1"))]))
    assert document.mentions[0][3:5] == ("Factor", ())
    assert report.unplaced == 1


def test_a_mention_over_a_line_break_is_whole(read):
    at = SECTIONS["S1"].index("severe")
    mentions = [mention(1, "S1", f"{at},{at + 9}", "6,4", "severe rash"), mention(2, "S1", at, 13, "severe rash")]
    (document,), report = read(label(mentions, [reaction("severe rash", pt("1"))]))
    expected = ("severe\n  rash", "AdverseReaction", ("MEDDRA:1",), (), ())
    assert {mention[2:] for mention in document.mentions} == {expected}
    assert (report.discontinuous, report.mismatched) == (0, 0)


@pytest.mark.parametrize(("string", "ids", "mismatched"), [("liver failure", ("MEDDRA:1",), 0), ("liver fail", (), 1)])
def test_a_mention_in_pieces_reaches_from_the_first_to_the_last(read, string, ids, mismatched):
    first, last = SECTIONS["S1"].index("liver"), SECTIONS["S1"].index("failure")
    mentions = [mention(1, "S1", f"{first},{last}", "5,7", string)]
    (document,), report = read(label(mentions, [reaction("liver failure", pt("1"))]))
    (found,) = document.mentions
    assert found[2:5] == ("liver or renal failure", "AdverseReaction", ids)
    assert [document.text[start:end] for start, end in found.offsets] == ["liver", "failure"]
    assert (report.discontinuous, report.mismatched, report.moved) == (1, mismatched, 0)


def test_a_mention_whose_string_stands_close_by_is_moved(read):
    (document,), report = read(label([mention(1, "S2", 6, 4, "pain")]))
    start = len(SECTIONS["S1"]) + 8
    assert document.mentions[0][:3] == (start, start + 4, "pain")
    assert (report.mismatched, report.moved) == (1, 1)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (mention(9, "S3", 0, 4, "Rash"), "there is no section S3"),
        (mention(9, "S2", 10, 40, "fever"), "offsets 10-50 are outside the text of 12 characters"),
        (mention(9, "S2", -2, 4, "fever"), "offsets -2-2 are outside"),
        (mention(9, "S2", 4, 1, " "), "only blanks at 4-5"),
        (mention(9, "S2", "0,7", "4", "Rash"), "start '0,7' and len '4' are not pairs of numbers"),
        (mention(9, "S2", "٣", "4", "Rash"), "start '٣' and len '4' are not pairs of numbers"),
        (mention(9, "S2", "0", "1" * 5000, "Rash"), "start '0' and len '111"),
        (mention(9, "S2", "one", "4", "Rash"), "start 'one'"),
        ("<Mention id='M9' section='S2'/>", "start None"),
    ],
)
def test_broken_mentions_are_reported_and_the_rest_stays(read, broken, reason):
    text = label([broken, mention(1, "S2", 0, 4, "Rash")])
    (document,), report = read(text)
    assert [found.text for found in document.mentions] == ["Rash"]
    assert [problem.line for problem in report.problems] == [2]
    assert f"label Invented, mention M9: {reason}" in report.problems[0].reason
    with pytest.raises(SapbertError, match=r"\[E127\].*INVENTED\.xml, line 2"):
        read(text, strict=True)


def test_labels_without_a_drug_or_with_a_section_twice_are_reported(read):
    for text in (label(drug=""), label().replace('id="S2"', 'id="S1"')):
        documents, report = read(text)
        assert (documents, report.broken) == ([], 1)


def test_labels_are_distinguished_from_bioc(tmp_path):
    path = tmp_path / "a.xml"
    for text, format in ((label(), "tac"), (HEAD + "<!-- ours --><Label/>", "tac"), ("<Labels/>", "bioc")):
        path.write_text(text)
        assert guess_format(path) == format


texts = st.text(alphabet="ab &<é\n", min_size=1, max_size=20).filter(str.strip)


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.data())
def test_every_mention_stands_where_it_is_annotated(tmp_path_factory, sections, data):
    named = {f"S{number}": text for number, text in enumerate(sections)}
    mentions, strings = [], []
    for number, (name, text) in enumerate(named.items()):
        start = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(start + 1, len(text)))
        if text[start:end].strip():
            strings.append(text[start:end])
            mentions.append(mention(number, name, start, end - start, " ".join(text[start:end].split())))
    path = tmp_path_factory.mktemp("label") / "a.xml"
    path.write_text(label(mentions, sections=named), encoding="utf8", newline="")
    report = Report()
    (document,) = read_corpus(path, report=report)
    assert [found.text for found in document.mentions] == strings
    assert (report.broken, report.mismatched, report.discontinuous) == (0, 0, 0)
