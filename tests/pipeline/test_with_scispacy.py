"""scispaCy registers `abbreviations`, `long_form` and `kb_ents` by force; both must work in one process."""

import itertools

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

# Python 3.13 has no scispaCy
AbbreviationDetector = pytest.importorskip("scispacy.abbreviation").AbbreviationDetector

TEXT = "Cystic fibrosis (CF) is one thing. CF and morphine are two."
USES = [("CF", 17, "Cystic fibrosis"), ("CF", 35, "Cystic fibrosis")]
OURS = ("abbreviation_resolver", "concept_matcher", "composite_splitter", "sapbert_linker")


class TheirLinker:
    """What scispaCy's EntityLinker does with attributes; the vocabularies of the real one must be downloaded."""

    def __init__(self) -> None:
        Span.set_extension("kb_ents", default=[], force=True)

    def __call__(self, doc: Doc) -> Doc:
        for ent in doc.ents:
            long_form = ent._.long_form
            text = ent.text if long_form is None else getattr(long_form, "text", long_form)
            ent._.kb_ents = [("THEIRS", 0.9), (text, 0.8)]
        return doc


@Language.factory("their_linker")
def make_their_linker(nlp: Language, name: str) -> TheirLinker:
    return TheirLinker()


def add(nlp, names, kb):
    for name in names:
        nlp.add_pipe(name, config={"kb": kb} if name in ("concept_matcher", "sapbert_linker") else {})


def abbreviations(doc):
    return [(short.text, short.start_char, str(short._.long_form)) for short in doc._.abbreviations]


def check_ours(doc):
    assert abbreviations(doc) == USES
    assert [(ent.text, ent.kb_id_, ent._.kb_ents[0]) for ent in doc.ents] == [
        ("Cystic fibrosis", "D003550", ("D003550", 1.0)),
        ("CF", "D003550", ("D003550", 1.0)),
        ("CF", "D003550", ("D003550", 1.0)),
        ("morphine", "D009020", ("D009020", 1.0)),
    ]
    assert all(ent._.links[0].concept_id for ent in doc.ents)
    assert doc.ents[2]._.links[0].long_form == "Cystic fibrosis"


@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize("serializable", [True, False])
def test_two_pipelines_in_one_process(kb, ours_first, serializable):
    ours, theirs = spacy.blank("en"), spacy.blank("en")
    if ours_first:
        add(ours, OURS, kb)
    theirs.add_pipe("entity_ruler").add_patterns([{"label": "DISEASE", "pattern": "CF"}])
    theirs.add_pipe("abbreviation_detector", config={"make_serializable": serializable})
    theirs.add_pipe("their_linker")
    if not ours_first:
        add(ours, OURS, kb)
    for _ in range(2):
        check_ours(ours(TEXT))
        their_doc = theirs(TEXT)
        assert abbreviations(their_doc) == USES
        assert [ent._.kb_ents for ent in their_doc.ents] == [[("THEIRS", 0.9), ("Cystic fibrosis", 0.8)]] * 2
    docs = zip(ours.pipe([TEXT, TEXT]), theirs.pipe([TEXT, TEXT]), strict=True)
    for our_doc, their_doc in docs:
        assert abbreviations(their_doc) == USES
        check_ours(our_doc)


@pytest.mark.parametrize("serializable", [True, False])
@pytest.mark.parametrize("made_last", ["theirs", "ours"])
def test_their_detector_before_our_linker(kb, mark, serializable, made_last):
    nlp = spacy.blank("en")
    if made_last == "theirs":
        add(nlp, ["sapbert_linker"], kb)
    detector = AbbreviationDetector(nlp, make_serializable=serializable)
    if made_last == "ours":
        add(nlp, ["sapbert_linker"], kb)
    doc = mark(nlp, TEXT, "CF")
    (ent,) = nlp.get_pipe("sapbert_linker")(detector(doc)).ents
    assert (ent.kb_id_, ent._.links[0].long_form) == ("D003550", "Cystic fibrosis")
    assert abbreviations(doc) == USES


@pytest.mark.parametrize("serializable", [True, False])
def test_our_attributes_give_spans_after_their_detector(kb, serializable):
    nlp = spacy.blank("en")
    detector = AbbreviationDetector(nlp, make_serializable=serializable)
    nlp.add_pipe("abbreviation_resolver")
    doc = detector(nlp.make_doc(TEXT))
    assert all(isinstance(short, Span) for short in doc._.abbreviations)
    assert abbreviations(doc) == USES
    assert abbreviations(Doc(nlp.vocab).from_bytes(doc.to_bytes())) == USES


def test_our_resolver_before_their_linker(kb):
    nlp = spacy.blank("en")
    add(nlp, OURS[:2], kb)
    nlp.add_pipe("their_linker")
    doc = nlp(TEXT)
    assert [ent._.kb_ents[1][0] for ent in doc.ents] == ["Cystic fibrosis"] * 3 + ["morphine"]
    assert abbreviations(doc) == USES


def test_both_linkers_in_one_pipeline(kb):
    for order in itertools.permutations(("sapbert_linker", "their_linker")):
        nlp = spacy.blank("en")
        add(nlp, (*OURS[:3], *order), kb)
        best = {ent._.kb_ents[0][0] for ent in nlp(TEXT).ents}
        assert best == ({"THEIRS"} if order[-1] == "their_linker" else {"D003550", "D009020"})


def test_their_detector_writes_over_nothing_of_our_resolver(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("abbreviation_detector")
    doc = nlp(TEXT)
    assert abbreviations(doc) == USES
