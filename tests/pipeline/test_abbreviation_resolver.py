import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.pipeline.abbreviation_resolver import AbbreviationResolver
from spacy_sapbert.types import Name, Record

from ..cases import cases

TEXT = "Cystic fibrosis (CF) and MI. CF patients."


@pytest.fixture
def nlp() -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver", config={"known": [["MI", "myocardial infarction"]]})
    return nlp


def forms(doc: Doc) -> "list[tuple[str, str, bool]]":
    """RETURNS: short form, long form, and whether that is a span of the document."""
    long_forms = [(short.text, short._.long_form) for short in doc._.abbreviations]
    return [(short, getattr(long, "text", long), isinstance(long, Span)) for short, long in long_forms]


EXPECTED = [("CF", "Cystic fibrosis", True), ("MI", "myocardial infarction", False), ("CF", "Cystic fibrosis", True)]


def test_uses_and_long_forms(nlp):
    doc = nlp(TEXT)
    assert forms(doc) == EXPECTED
    assert all(isinstance(short, Span) and short.doc is doc for short in doc._.abbreviations)
    assert doc[0:2]._.long_form is None


@pytest.mark.parametrize("text", ["Cystic fibrosis (CF)1 and all.", "Cystic fibrosis(CF)was seen."])
def test_spans_have_the_exact_characters(nlp, text):
    doc = nlp(text)
    (short,) = Doc(nlp.vocab).from_bytes(doc.to_bytes())._.abbreviations
    assert (str(short), str(short._.long_form)) == ("CF", "Cystic fibrosis")
    assert text[short.start_char : short.end_char] == "CF"
    assert doc[short.start : short.end]._.long_form.text == "Cystic fibrosis"


def test_second_run_replaces_the_first(nlp):
    doc = nlp(TEXT)
    resolver = nlp.get_pipe("abbreviation_resolver")
    resolver.known = {}
    assert forms(resolver(doc)) == [EXPECTED[0], EXPECTED[2]]


TEXTS = st.lists(st.sampled_from(["cystic", "fibrosis", "(CF)", "(", ")", "CF", "CFs", "MI", "α", "\n\n"]), max_size=12)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS.map(" ".join))
def test_running_again_changes_nothing(nlp, text):
    doc = nlp(text)
    before = forms(doc), dict(doc.user_data)
    assert (forms(nlp.get_pipe("abbreviation_resolver")(doc)), dict(doc.user_data)) == before
    assert all(short.text in text for short in doc._.abbreviations)


def test_predict_leaves_the_document_as_it_is(nlp):
    doc = nlp.make_doc(TEXT)
    (occurrences,) = nlp.get_pipe("abbreviation_resolver").predict([doc])
    assert len(occurrences) == 3
    assert doc.user_data == {}


@pytest.mark.parametrize(
    "words",
    [
        ["Cystic", "fibrosis", "(", "CF", ")", "and", "MI", ".", "CF", "patients", "."],
        ["Cystic", "fibrosis", "(CF)", "and", "MI", ".", "CF", "patients."],
        ["Cystic fibrosis", "(", "C", "F", ")", "and", "M", "I", ".", "C", "F", "patients", "."],
    ],
)
def test_result_does_not_depend_on_the_tokenizer(nlp, words):
    text, spaces = TEXT, []
    for word in words:
        text = text[len(word) :]
        spaces.append(text.startswith(" "))
        text = text.lstrip()
    doc = Doc(nlp.vocab, words=words, spaces=spaces)
    assert doc.text == TEXT
    resolver = nlp.get_pipe("abbreviation_resolver")
    assert resolver.predict([doc]) == resolver.predict([nlp.make_doc(TEXT)])
    assert [(short.strip("()"), *rest) for short, *rest in forms(resolver(doc))] == EXPECTED


# short forms that a config file could not hold as keys
KNOWN = {"TNF-alpha": "a", "[Ca2+]i": "b", "a=b": "c", "E. coli": "d", "α-GT": "e"}


def test_pipeline_to_disk(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver", config={"min_precision": 0.5, "known": list(map(list, KNOWN.items()))})
    nlp.to_disk(tmp_path)
    resolver = spacy.load(tmp_path).get_pipe("abbreviation_resolver")
    assert (resolver.min_precision, resolver.known) == (0.5, KNOWN)


# --- errors


@pytest.mark.parametrize("min_precision", [-0.1, 1.1])
def test_precision_out_of_range(min_precision):
    with pytest.raises(SapbertError, match=r"E406.*min_precision"):
        spacy.blank("en").add_pipe("abbreviation_resolver", config={"min_precision": min_precision})


@pytest.mark.parametrize("known", [[("", "form")], [("CF", " ")], [("CF",)], [["CF", "a", "b"]]])
def test_known_entry_that_is_no_pair(known):
    with pytest.raises(SapbertError, match="E406"):
        AbbreviationResolver(spacy.blank("en"), known=known)


# --- short forms of clinical notes


@pytest.fixture(scope="module")
def notes(tmp_path_factory) -> Language:
    """A pipeline for notes. Its vocabulary has short forms for something else, and other names of their long forms."""
    names = {
        "P:1": ["phencyclidine", "PCP"],
        "P:2": ["Pulmonary embolism"],
        "P:3": ["stroke"],
        "P:4": ["Leukocyte adhesion deficiency", "LAD"],
        "P:5": ["infantile neuroaxonal dystrophy", "PLAN"],
        "P:6": ["IgA deficiency"],
        "P:7": ["Breast cancer"],
        "P:8": ["acute pulmonary embolism"],
        "P:9": ["cancer"],
        "P:10": ["fever"],
        "P:11": ["chills"],
        "P:12": ["severe mental retardation"],
    }
    records = (Record(id, tuple(Name(name, "exact", "own") for name in texts)) for id, texts in names.items())
    kb = build_knowledge_base(records, tmp_path_factory.mktemp("notes") / "a.kb").path
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver", config={"clinical": True})
    nlp.add_pipe("concept_matcher", config={"kb": str(kb)})
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb), "encoder": "none"})
    return nlp


@pytest.mark.parametrize(*cases(__file__, "clinical_short_forms"))
def test_clinical_short_forms(notes, text, links):
    found = [(mention.text, link) for mention in notes(text).ents for link in mention._.links]
    assert [(written, link.concept_id, link.long_form) for written, link in found] == links


@pytest.mark.parametrize(
    ("text", "form", "reason"),
    [
        ("See PCP for a visit.", "PCP", "PCP is “primary care p"),
        ("She has LAD.", "LAD", "LAD may be “left anterior descending artery” or “lymphadenopathy” or "),
        ("PLAN\nRest.", "PLAN", "PLAN may be “plan” here"),
    ],
)
def test_given_mentions_say_why_they_have_no_link(notes, text, form, reason):
    doc = notes.get_pipe("abbreviation_resolver")(notes.make_doc(text))
    doc = Doc(notes.vocab).from_bytes(doc.to_bytes())
    doc.ents = [doc.char_span(text.index(form), text.index(form) + len(form), label="X")]
    (link,) = notes.get_pipe("sapbert_linker")(doc).ents[0]._.links
    assert link.concept_id is None
    assert reason in link.reason


def test_clinical_short_forms_are_english():
    with pytest.raises(SapbertError, match="E406"):
        spacy.blank("es").add_pipe("abbreviation_resolver", config={"clinical": True})


def test_attributes_show_long_forms_only(notes):
    doc = notes("PLAN: HTN.")
    assert forms(doc) == [("HTN", "hypertension", False)]
    doc[0:1]._.long_form = "plan"
    assert forms(doc) == [("PLAN", "plan", False), ("HTN", "hypertension", False)]
    assert forms(spacy.blank("en")("PLAN: HTN.")) == []
