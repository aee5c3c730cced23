import inspect
import re
import socket
import sqlite3
import sys
import warnings
from pathlib import Path

import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import ConfigValidationError

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking.settings import CandidateSettings, SelectionSettings
from spacy_sapbert.outputs.records import doc_record
from spacy_sapbert.pipeline.abbreviation_resolver import AbbreviationResolver
from spacy_sapbert.pipeline.attributes import set_abbreviation_occurrences, set_composite_splits
from spacy_sapbert.pipeline.component_settings import settings_of
from spacy_sapbert.pipeline.composite_splitter import CompositeSplitter
from spacy_sapbert.pipeline.concept_matcher import ConceptMatcher
from spacy_sapbert.pipeline.sapbert_linker import SapbertLinker
from spacy_sapbert.pipeline.spelling_corrector import SpellingCorrector
from spacy_sapbert.text.abbreviations import AbbreviationOccurrence
from spacy_sapbert.types import NIL, Name, Record

from ..cases import cases

COMPONENTS = ("abbreviation_resolver", "concept_matcher", "composite_splitter", "spelling_corrector", "sapbert_linker")
ROOT = Path(__file__).parents[2]
TEXT = "The patient had high blood pressure and was given aspirin."


@pytest.fixture
def nlp(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none"})
    return nlp


@pytest.fixture
def linker(nlp):
    return nlp.get_pipe("sapbert_linker")


def ids(span):
    return [concept_id for concept_id, _ in span._.kb_ents]


# --- defaults


def test_all_components_without_settings_link_against_the_starter_vocabulary():
    nlp = spacy.blank("en")
    for name in COMPONENTS:
        nlp.add_pipe(name)
    found = {ent.text: (ent.kb_id_, ent._.kb_ents[0]) for ent in nlp(TEXT).ents}
    assert found == {"high blood pressure": ("D006973", ("D006973", 1.0)), "aspirin": ("D001241", ("D001241", 1.0))}


@pytest.fixture(scope="module")
def events():
    """RETURNS: the audit events so far, and the set of those to keep. Python has no way to take the hook away."""
    events, watched = [], set()
    sys.addaudithook(lambda event, arguments: events.append(event) if event in watched else None)
    return events, watched


@pytest.fixture
def opened(events):
    """RETURNS (list[str]): what happens to files, databases and sockets during the test."""
    happened, watched = events
    happened.clear()
    watched.update(("open", "sqlite3.connect", "socket.connect", "socket.getaddrinfo"))
    yield happened
    watched.clear()


@pytest.fixture
def build():
    """A function that builds a pipeline of what is not there. Its modules are imported: that opens files as well."""

    def make():
        nlp = spacy.blank("en")
        for name, config in {
            "abbreviation_resolver": {},
            "concept_matcher": {"kb": "/not/there.kb"},
            "composite_splitter": {},
            "spelling_corrector": {"kb": "/not/there.kb"},
            "sapbert_linker": {"kb": "/not/there.kb", "encoder": "no/such-encoder"},
        }.items():
            nlp.add_pipe(name, config=config)
        for name in ("spelling_corrector", "sapbert_linker"):
            nlp.get_pipe(name)(nlp.make_doc("no mentions"))
        return nlp

    make()
    return make


def test_building_and_emptiness_touch_neither_disk_nor_network(build, mark, opened):
    nlp = build()
    assert opened == []
    for name in ("spelling_corrector", "sapbert_linker"):
        with pytest.raises(SapbertError, match="E504"):
            nlp.get_pipe(name)(mark(nlp, "aspirin", "aspirin"))


def test_the_watch_on_disk_and_network_sees_them(tmp_path, opened):
    (tmp_path / "a").write_text("")
    sqlite3.connect(":memory:").close()
    with pytest.raises(ConnectionError), socket.socket() as tried:
        tried.connect(("127.0.0.1", 1))
    assert {"open", "sqlite3.connect", "socket.connect"} <= set(opened)


# --- normal forms, spelling, parts and long forms


def test_spelling_is_not_corrected_unless_asked_for(nlp, mark, looked_up):
    nlp(mark(nlp, "Brest cancer", "Brest cancer"))
    assert looked_up == [["Brest cancer"]]


def test_parts_are_joined(nlp, mark):
    doc = mark(nlp, "breast and ovarian cancer", "breast and ovarian cancer")
    set_composite_splits(doc.ents[0], [("breast", "ovarian cancer"), ("breast cancer", "ovarian cancer")])
    (ent,) = nlp(doc).ents
    assert ent.kb_id_ == "D001943|D010051"
    assert [(link.text, link.concept_id, link.split) for link in ent._.links] == [
        ("breast cancer", "D001943", True),
        ("ovarian cancer", "D010051", True),
    ]
    assert ent._.kb_ents[:2] == [("D001943", 1.0), ("D010051", 1.0)]
    assert len(ids(ent)) == len(set(ids(ent)))


@pytest.mark.parametrize(
    ("parts", "concept_ids", "kb_id"),
    [
        (("ovarian cancer", "aspirin", "7777"), ["D010051", "D001241", None], "D010051|D001241"),
        (("aspirin", "acetylsalicylic acid", "lithium"), ["D001241", "D001241", "D008094"], "D001241|D008094"),
    ],
    ids=["a part without a link", "an id twice"],
)
def test_the_id_of_a_composite_joins_those_of_its_parts(nlp, linker, mark, parts, concept_ids, kb_id):
    linker.selection.split_margin = -1.0
    text = " and ".join(parts)
    doc = mark(nlp, text, text)
    set_composite_splits(doc.ents[0], [parts])
    (ent,) = nlp(doc).ents
    assert [link.concept_id for link in ent._.links] == concept_ids
    assert ent.kb_id_ == kb_id
    assert len(ids(ent)) == len(set(ids(ent)))


def test_composites_are_left_whole_without_the_splitter(nlp, mark):
    text = "breast cancer and aspirin"
    assert len(nlp(mark(nlp, text, text)).ents[0]._.links) == 1
    nlp.add_pipe("composite_splitter", before="sapbert_linker")
    assert len(nlp(mark(nlp, text, text)).ents[0]._.links) == 2


def test_long_forms_can_be_left_out(nlp, linker, mark):
    linker.resolve_abbreviations = False
    doc = mark(nlp, "MV patients", "MV patients")
    set_abbreviation_occurrences(doc, [AbbreviationOccurrence(0, 2, "mucoviscidosis", None, None)])
    (link,) = nlp(doc).ents[0]._.links
    assert (link.text, link.long_form) == ("MV patients", None)


def test_another_mention_may_be_the_long_form(nlp, linker, mark):
    text = "Cystic fibrosis is not rare. CyF is"
    short = nlp(mark(nlp, text, "Cystic fibrosis", "CyF")).ents[1]
    assert (short.kb_id_, short._.links[0].text, short._.links[0].long_form) == ("D003550", *["Cystic fibrosis"] * 2)
    assert nlp(mark(nlp, text, "CyF")).ents[0]._.links[0].long_form is None
    linker.resolve_abbreviations = False
    assert nlp(mark(nlp, text, "Cystic fibrosis", "CyF")).ents[1]._.links[0].long_form is None


def test_linking_again_writes_over_the_first_result(nlp, linker, mark):
    doc = nlp(mark(nlp, "aspirin", "aspirin"))
    linker.types = ["Phenomenon"]
    (ent,) = linker(doc).ents
    assert (ent.kb_id_, ent._.kb_ents, ent._.links[0].concept_id) == (NIL, [], None)


# --- types, sources, span groups


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"types": ["Disease", "Gene"]}, r"E125.*'Gene'.*: Chemical, Disease, Drug, Phenomenon, Phenotype"),
        ({"label_types": {"X": ["Gene"]}}, r"E125.*'Gene'"),
        ({"sources": ["UMLS"]}, r"E125.*'UMLS'.*: CTD, HPO, MEDIC"),
    ],
)
def test_types_and_sources_that_the_vocabulary_does_not_have(kb, mark, config, message):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, **config})
    with pytest.raises(SapbertError, match=message):
        nlp(mark(nlp, "aspirin", "aspirin"))


def test_overlapping_spans_of_a_group(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "spans_key": "found"})
    doc = nlp.make_doc("colorectal cancer and aspirin")
    doc.ents = [Span(doc, 3, 4, label="DRUG", kb_id="MINE")]
    doc.spans["found"] = [
        Span(doc, 0, 2, label="LONG", span_id="first"),
        Span(doc, 1, 2, label="SHORT"),
        Span(doc, 0, 2, label="AGAIN"),
    ]
    doc.spans["found"].attrs["by"] = "hand"
    group = nlp(doc).spans["found"]
    assert [(span.label_, span.id_, span.kb_id_) for span in group] == [
        ("LONG", "first", "D015179"),
        ("SHORT", "", "D009369"),
        ("AGAIN", "", "D015179"),
    ]
    assert [span._.links[0].text for span in group] == [span.text for span in group]
    assert group.attrs == {"by": "hand"}
    assert [(ent.kb_id_, ent._.links) for ent in doc.ents] == [("MINE", [])]


def test_spans_with_other_labels_or_of_another_linker_keep_their_own_results(kb):
    nlp = spacy.blank("en")
    labels = {"A": ["Phenomenon"], "B": ["Disease"]}
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none", "spans_key": "all", "label_types": labels})
    nlp.add_pipe("sapbert_linker", "second", config={"kb": kb, "encoder": "none", "types": ["Disease"]})
    docs = [nlp.make_doc("cold") for _ in range(2)]
    for doc in docs:
        doc.spans["all"] = [Span(doc, 0, 1, label=label) for label in labels]
        doc.ents = [Span(doc, 0, 1, label="A")]
    for doc in (nlp(docs[0]), *nlp.pipe(docs[1:], n_process=2)):
        mentions = *doc.spans["all"], *doc.ents
        expected = ["D003080", "D003139", "D003139"]
        assert [mention.kb_id_ for mention in mentions] == expected
        assert [mention._.links[0].concept_id for mention in mentions] == expected
        assert [ids(mention)[0] for mention in mentions] == expected


def test_a_group_that_is_not_there(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "spans_key": "found"})
    doc = nlp("aspirin")
    assert (dict(doc.spans), doc.user_data) == ({}, {})


# --- names of several concepts


SHARED = [("A", "Disease", "alpha fever|warm"), ("B", "Drug", "betaxin|warm"), ("C", "Symptom", "gamma pain|warm")]


@pytest.fixture
def ambiguous(tmp_path):
    """A pipeline whose vocabulary has a name of three concepts, the preferred one of none."""
    records = [
        Record(concept_id, tuple(Name(text, "exact", "s") for text in names.split("|")), types=(type,))
        for concept_id, type, names in SHARED
    ]
    build_knowledge_base(records, tmp_path / "shared.kb")
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": str(tmp_path / "shared.kb"), "encoder": "none"})
    return nlp


def test_no_tie_is_told_where_nothing_is_linked(nlp, linker, mark):
    linker.threshold = 1.0
    assert nlp(mark(nlp, "Seizures", "Seizures")).ents[0]._.links[0].tie is None


def test_no_tie_is_told_where_the_first_has_no_definition(tmp_path, mark):
    defined = Record("B", (Name("b", "preferred", "s"), Name("warm", "exact", "s")), definition="Not cold.")
    undefined = Record("A", (Name("warm", "preferred", "s"),))
    build_knowledge_base([undefined, defined], tmp_path / "a.kb")
    nlp = spacy.blank("en")
    config = {"kb": str(tmp_path / "a.kb"), "encoder": "none", "threshold": 0.3, "no_definition_threshold": 1.0}
    linker = nlp.add_pipe("sapbert_linker", config=config)
    found = []
    for linker.filter_for_definitions in (False, True):
        (link,) = nlp(mark(nlp, "warm pain", "warm pain")).ents[0]._.links
        found.append((link.concept_id, link.tie))
    assert found == [("A", "same score as B; chosen because this is its preferred name"), ("B", None)]


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from(["warm", "betaxin", "gamma pain", "other"]), min_size=1, unique=True)))
def test_a_document_is_linked_alike_alone_and_in_any_batch(ambiguous, mark, drawn):
    def docs():
        return [mark(ambiguous, ", ".join(words), *words) for words in drawn]

    linker = ambiguous.get_pipe("sapbert_linker")
    alone = [linker(doc) for doc in docs()]
    for together in (linker.pipe(docs()), reversed(list(linker.pipe(reversed(docs()))))):
        assert [doc.user_data for doc in together] == [doc.user_data for doc in alone]


# --- settings


@pytest.mark.parametrize("name", COMPONENTS)
def test_unknown_setting(name):
    with pytest.raises(ConfigValidationError, match="tresholds"):
        spacy.blank("en").add_pipe(name, config={"tresholds": 1})


@pytest.mark.parametrize(*cases(__file__, "impossible_value"))
def test_impossible_value(config, message):
    with pytest.raises(SapbertError, match=rf"\[E406\] The setting {message}; it must be"):
        spacy.blank("en").add_pipe("sapbert_linker", name="mine", config=config)


def test_the_rest_of_a_block_has_its_defaults():
    linker = spacy.blank("en").add_pipe("sapbert_linker", config={"selection": {"split_margin": 0.5}})
    assert linker.selection == SelectionSettings(split_margin=0.5)
    assert linker.candidates == CandidateSettings()


def test_nothing_to_score_with():
    with pytest.raises(SapbertError, match="E406"):
        spacy.blank("en").add_pipe("sapbert_linker", config={"candidates": {"sparse": False}, "encoder": "none"})


def test_a_language_without_rules_is_told_once(kb):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            nlp = spacy.blank("fi")
            for name in COMPONENTS[:3]:
                nlp.add_pipe(name)
    (told,) = [str(one.message) for one in caught if "W570" in str(one.message)]
    assert "The language of the pipeline is 'fi'" in told
    page, _, anchor = told.split("/")[-2], *told.rpartition("#")[1:]
    headings = re.findall(r"^#+ (.*)", (ROOT / "docs" / f"{page}.md").read_text(encoding="utf8"), flags=re.MULTILINE)
    assert anchor in {heading.lower().replace(" ", "-") for heading in headings}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spacy.blank("en").add_pipe("concept_matcher")
        spacy.blank("fi").add_pipe("sapbert_linker", config={"kb": kb})  # has no rules of its own


@pytest.mark.parametrize(
    ("factory", "setting", "remedy"),
    [
        ("sapbert_linker", {"linker_name": "umls"}, "Set `kb` to"),
        ("abbreviation_resolver", {"make_serializable": True}, "can always be saved"),
    ],
)
def test_settings_that_only_scispacy_has_are_named_with_their_remedy(factory, setting, remedy):
    (name,) = setting
    with pytest.raises(SapbertError, match=rf"E406\] The setting {name} .*left out.*{remedy}") as raised:
        spacy.blank("en").add_pipe(factory, config=setting)
    page = str(raised.value).split("See ")[1]
    assert (ROOT / "docs" / f"{Path(page).name}.md").is_file()


def test_what_users_of_scispacys_linker_call_is_there(linker):
    (candidates, nothing) = linker.candidate_generator(["breast cancer", ""], 2)
    assert candidates[0].concept_id == "D001943"
    assert max(candidates[0].similarities) == 1.0
    assert linker.kb.alias_to_cuis[candidates[0].aliases[0]] == {"D001943"}
    assert nothing == []
    with pytest.raises(SapbertError, match=r"E533.*not a list of texts"):
        linker.candidate_generator("breast cancer", 2)
    assert linker.kb.semantic_type_tree.get_canonical_name("T047") == "Disease or Syndrome"


def test_every_attribute_of_scispacys_linker_is_on_the_page():
    linking = pytest.importorskip("scispacy.linking")
    from scispacy.abbreviation import AbbreviationDetector
    from scispacy.candidate_generation import CandidateGenerator
    from scispacy.linking_utils import UmlsKnowledgeBase

    page = (ROOT / "docs" / "coming-from-scispacy.md").read_text(encoding="utf8")
    for thing in (linking.EntityLinker, CandidateGenerator, UmlsKnowledgeBase, AbbreviationDetector):
        set_in_init = re.findall(r"self\.(\w+)(?:: \w+)? =", inspect.getsource(thing.__init__))
        methods = [name for name in vars(thing) if not name.startswith("_")]
        assert set_in_init
        for name in [*set_in_init, *methods]:
            assert f"{name}`" in page or f"{name}(" in page or f"{name}[" in page, name


def test_settings_of_scispacys_linker_are_understood():
    config = {
        "k": 10,
        "threshold": 0.7,
        "max_entities_per_mention": 3,
        "filter_for_definitions": True,
        "no_definition_threshold": 0.9,
        "resolve_abbreviations": True,
    }
    linker = spacy.blank("en").add_pipe("sapbert_linker", config=config)
    assert {name: getattr(linker, name) for name in config} == config


CLASSES = (AbbreviationResolver, ConceptMatcher, CompositeSplitter, SpellingCorrector, SapbertLinker)


@pytest.mark.parametrize(("name", "component_class"), zip(COMPONENTS, CLASSES, strict=True))
def test_class_and_factory_have_the_same_defaults(name, component_class):
    nlp = spacy.blank("en")
    by_class, by_factory = component_class(nlp), nlp.add_pipe(name)
    assert settings_of(by_class) == settings_of(by_factory)
    assert settings_of(by_class).keys() == nlp.get_factory_meta(name).default_config.keys()
    assert by_class.name == name


# --- batches and errors


def test_each_text_is_looked_up_once(nlp, linker, mark, looked_up):
    linker.candidates.batch_size = 3
    docs = [mark(nlp, "aspirin and lithium", "aspirin", "lithium") for _ in range(5)]
    assert len(list(linker.pipe(docs))) == 5
    assert looked_up == [["aspirin", "lithium"]]  # the second batch knows them
    assert all([ent.kb_id_ for ent in doc.ents] == ["D001241", "D008094"] for doc in docs)


@pytest.fixture
def broken(linker, monkeypatch):
    """A linker that fails on one document."""
    predict = linker.predict

    def failing(docs):
        if any(doc.text.startswith("broken") for doc in docs):
            raise RuntimeError("cannot be")
        return predict(docs)

    monkeypatch.setattr(linker, "predict", failing)


@pytest.mark.usefixtures("broken")
def test_an_error_ends_the_stream(nlp, mark):
    with pytest.raises(RuntimeError, match="cannot be"):
        list(nlp.pipe([mark(nlp, "aspirin", "aspirin"), mark(nlp, "broken aspirin", "aspirin")]))


@pytest.mark.usefixtures("broken")
def test_the_error_handler_is_told_of_the_broken_document_alone(nlp, mark):
    told = []
    nlp.set_error_handler(lambda name, component, docs, error: told.append((name, [doc.text for doc in docs], error)))
    texts = ["aspirin", "broken aspirin", "more aspirin"]
    docs = list(nlp.pipe([mark(nlp, text, "aspirin") for text in texts]))
    assert [(doc.text, doc.ents[0].kb_id_) for doc in docs] == [("aspirin", "D001241"), ("more aspirin", "D001241")]
    assert [(name, texts) for name, texts, _ in told] == [("sapbert_linker", ["broken aspirin"])]


def test_another_vocabulary_can_be_set(nlp, linker, mark, tmp_path):
    assert nlp(mark(nlp, "aspirin", "aspirin")).ents[0].kb_id_ == "D001241"
    build_knowledge_base([Record("X1", (Name("aspirin", "preferred", "one"),))], tmp_path / "one.kb")
    linker.set_kb(str(tmp_path / "one.kb"))
    assert nlp(mark(nlp, "aspirin", "aspirin")).ents[0].kb_id_ == "X1"
    assert len(linker.kb) == 1


def test_an_encoder_folder_without_weights(kb, mark, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": str(tmp_path)})
    with pytest.raises(SapbertError, match="E302"):
        nlp(mark(nlp, "aspirin", "aspirin"))


def trained_ner():
    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    sentences = [
        ("Aspirin helps here .", [(0, 7, "DRUG")]),
        ("They took aspirin daily .", [(10, 17, "DRUG")]),
        ("Nothing helps here .", []),
        ("They saw severe seizures .", [(16, 24, "DISEASE")]),
    ]
    examples = [Example.from_dict(nlp.make_doc(text), {"entities": entities}) for text, entities in sentences]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples, sgd=optimizer)
    return nlp


def test_a_trained_ner_is_not_harmed(kb):
    nlp = trained_ner()
    texts = ["We gave aspirin daily .", "It was severe seizures .", "They took ovarian cancer .", "Aspirin is cold ."]
    before = [[(ent.text, ent.label_) for ent in doc.ents] for doc in nlp.pipe(texts)]
    assert any(before)
    nlp.add_pipe("abbreviation_resolver", first=True)
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": kb})
    docs = list(nlp.pipe(texts))
    assert [[(ent.text, ent.label_) for ent in doc.ents] for doc in docs] == before
    assert all(ent.kb_id_ for doc in docs for ent in doc.ents)
    nlp.add_pipe("concept_matcher", before="composite_splitter", config={"kb": kb})
    for doc, ents in zip(nlp.pipe(texts), before, strict=True):
        assert set(ents) <= {(ent.text, ent.label_) for ent in doc.ents}


# --- texts of all kinds

ODD_TEXTS = {
    "empty": "",
    "blanks": " \n\t  ",
    "no letters": "... --- !!!",
    "NUL": "aspirin\x00aspirin \x00",
    "combining": "c\u0327a\u0301ncer of the bre\u0301ast\u0301",
    "right to left": "\u202easpirin \u05d0\u05e1\u05e4\u05d9\u05e8\u05d9\u05df",
    "astral": "\U0001f48a aspirin\U0001f48a \U0001d51e",
    "byte order mark": "\ufeffaspirin",
    "unpaired bracket": "cold) ((cold]",
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
@pytest.mark.parametrize("dense", [True, False])
def test_odd_text(kb, tiny_encoder, text, dense):
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("concept_matcher", config={"kb": kb})
    nlp.add_pipe("composite_splitter", config={"spans_key": "all"})
    encoder = str(tiny_encoder) if dense else "none"
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": encoder, "spans_key": "all"})
    doc = nlp.make_doc(text)
    doc.spans["all"] = [Span(doc, start, end) for end in range(len(doc) + 1) for start in range(end)]
    doc = nlp(doc)
    assert doc.text == text
    assert all(len(span._.links) >= 1 and span.kb_id_ for span in doc.spans["all"])
    assert Doc(nlp.vocab).from_bytes(doc.to_bytes()).text == text


def test_a_vocabulary_of_one_concept(tmp_path, tiny_encoder, mark):
    build_knowledge_base([Record("X1", (Name("?", "preferred", "one"),))], tmp_path / "one.kb")
    for encoder, sparse in (("none", True), (str(tiny_encoder), True), (str(tiny_encoder), False)):
        nlp = spacy.blank("en")
        config = {"kb": str(tmp_path / "one.kb"), "encoder": encoder, "threshold": 0.999}
        config["candidates"] = {"sparse": sparse}
        nlp.add_pipe("concept_matcher", config={"kb": config["kb"]})
        nlp.add_pipe("sapbert_linker", config=config)
        assert nlp(mark(nlp, "aspirin", "aspirin")).ents[0].kb_id_ == NIL


# --- the language that people read


@pytest.fixture(scope="module")
def bilingual_kb(tmp_path_factory):
    names = (Name("fever", "preferred", "s", "en"), Name("fiebre", "preferred", "s-es", "es"))
    others = (Name("rash", "preferred", "s", "en"),)
    path = tmp_path_factory.mktemp("kb") / "a.kb"
    return build_knowledge_base([Record("D1", names), Record("D2", others)], path)


def test_the_display_language_changes_only_what_is_shown(bilingual_kb, mark, tmp_path):
    def linked(**config):
        nlp = spacy.blank("en")
        linker = nlp.add_pipe("sapbert_linker", config={"kb": str(bilingual_kb.path), "encoder": "none", **config})
        doc = nlp(mark(nlp, "fever and rash", "fever", "rash"))
        record = doc_record(doc, doc.ents, linker.kb, language=linker.display_language)
        return nlp, [entity.pop("links")[0] for entity in record["entities"]]

    _, plain = linked()
    nlp, spanish = linked(display_language="es-MX")
    assert [link.pop("preferred_name") for link in plain] == ["fever", "rash"]
    assert [link.pop("preferred_name") for link in spanish] == ["fiebre", "rash"]
    for link in (*plain, *spanish):
        link.pop("runner_up")
    assert plain == spanish
    nlp.to_disk(tmp_path / "saved")
    assert spacy.load(tmp_path / "saved").get_pipe("sapbert_linker").display_language == "es"


def test_display_languages_that_cannot_be(bilingual_kb):
    with pytest.raises(SapbertError, match="E193"):
        SapbertLinker(spacy.blank("en"), display_language="Spanish please")
    linker = SapbertLinker(spacy.blank("en"), kb=str(bilingual_kb.path), encoder="none", display_language="de")
    with pytest.raises(SapbertError, match="E125"):
        _ = linker.kb


def test_repr_opens_nothing():
    linker = spacy.blank("en").add_pipe("sapbert_linker", config={"kb": "/not/there.kb", "encoder": "none"})
    assert repr(linker) == "SapbertLinker('sapbert_linker', kb='/not/there.kb', encoder='none', spans_key=None)"


# --- two linkers in one pipeline


@pytest.fixture
def two(tmp_path):
    """RETURNS: a pipeline with a linker to diseases, then one to drugs, and a function that links entities."""
    nlp = spacy.blank("en")
    for name, names in {"diseases": {"D:1": "gout", "D:2": "lithium"}, "drugs": {"C:1": "lithium"}}.items():
        records = [Record(id, (Name(text, "exact", "X"),)) for id, text in names.items()]
        path = build_knowledge_base(records, tmp_path / f"{name}.kb").path
        nlp.add_pipe("sapbert_linker", name, config={"kb": str(path), "encoder": "none"})

    def link(doc):
        doc.set_ents([Span(doc, place, place + 1, label) for place, label in enumerate(("DISEASE", "DRUG", "DRUG"))])
        for _ in range(2):  # what was linked is linked again
            doc = nlp.get_pipe("drugs")(nlp.get_pipe("diseases")(doc))
        return [ent.kb_id_ for ent in doc.ents], [len(ent._.links) for ent in doc.ents]

    return nlp, link


@pytest.mark.parametrize(
    ("labels", "expected"),
    [({}, ["D:1", "D:2", NIL]), ({"DRUG": []}, ["D:1", "C:1", NIL]), ({"DISEASE": []}, ["D:1", "D:2", NIL])],
)
def test_a_later_linker_replaces_only_links_of_its_labels_and_never_by_none(two, labels, expected):
    nlp, link = two
    nlp.get_pipe("drugs").label_types = labels
    assert link(nlp.make_doc("gout lithium unheard")) == (expected, [1, 1, 1])


def test_a_linker_replaces_its_own_links(two):
    nlp, link = two
    link(doc := nlp.make_doc("gout lithium unheard"))
    nlp.get_pipe("diseases").threshold = 1.0
    assert [ent.kb_id_ for ent in nlp.get_pipe("diseases")(doc).ents] == [NIL, NIL, NIL]


@pytest.fixture(scope="module")
def tied_kb(tmp_path_factory):
    names = {f"G:{n}": (f"nr{n}", "androgen receptor") for n in range(1, 5)} | {"D:1": ("gout",)}
    records = [Record(id, tuple(Name(name, "exact", "") for name in names[id]), (), ("Gene",)) for id in names]
    return str(build_knowledge_base(records, tmp_path_factory.mktemp("tied") / "a.kb").path)


def test_candidates_of_a_tie_are_shown(tied_kb):
    nlp = spacy.blank("en")
    for name in ("concept_matcher", "sapbert_linker"):
        nlp.add_pipe(name, config={"kb": tied_kb})
    (tie, linked) = nlp("The androgen receptor and gout.").ents
    assert (tie.kb_id_, tie._.kb_ents) == (NIL, [(f"G:{n}", 1.0) for n in range(1, 5)])
    assert (linked.kb_id_, linked._.kb_ents) == ("D:1", [("D:1", 1.0)])
    nlp.get_pipe("sapbert_linker").max_entities_per_mention = 1
    assert nlp("the androgen receptor").ents[0]._.kb_ents == [("G:1", 1.0)]


def test_a_matcher_behind_the_linker_says_so(tied_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Gene", "pattern": "gout"}])
    nlp.add_pipe("sapbert_linker", config={"kb": tied_kb, "encoder": "none"})
    nlp.add_pipe("concept_matcher", config={"kb": tied_kb})
    with pytest.warns(UserWarning, match="W420.*concept_matcher"):
        nlp("gout and androgen receptor")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("gout")


@pytest.mark.parametrize("spans_key", [None, "sc"])
def test_a_linker_warns_once_if_nothing_looks_for_mentions(linker, spans_key):
    linker.spans_key = spans_key
    with pytest.warns(UserWarning, match="W418"):
        linker(Doc(linker.vocab, ["gout"]))
    searched = Doc(linker.vocab, ["gout"], ents=["O"])
    searched.spans["sc"] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linker(Doc(linker.vocab, ["gout"]))
        linker._has_warned = False
        linker(searched)
        linker(Doc(linker.vocab))
