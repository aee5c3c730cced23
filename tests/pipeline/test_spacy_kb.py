"""`SpacyKnowledgeBase`, and what of spaCy and spacy-llm runs on it."""

import pickle
import typing

import numpy as np
import pytest
import spacy
from spacy.kb import KnowledgeBase
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config
from thinc.api import Config

import spacy_sapbert
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.mentions import add_training_mentions
from spacy_sapbert.types import Name, Record

NAMES = {
    "D003139": "Common Cold|cold|acute coryza",
    "D003080": "cold temperature|Cold|freezing weather",
    "D009103": "Multiple Sclerosis|MS",
    "D009020": "Morphine Sulfate|MS",
    "D000001": "— —",
}
SENTENCES = [
    ("A cold with cough and sneezing kept the child in bed.", "cold", "D003139"),
    ("He had a cold and a runny nose.", "cold", "D003139"),
    ("Her cold began with sneezing.", "cold", "D003139"),
    ("Plants died of cold in winter.", "cold", "D003080"),
    ("The cold of winter killed the plants.", "cold", "D003080"),
    ("Lesions of the brain are typical of MS.", "MS", "D009103"),
    ("Patients with MS have lesions and relapses.", "MS", "D009103"),
    ("MS was given for severe pain at night.", "MS", "D009020"),
    ("She took MS tablets for severe pain.", "MS", "D009020"),
]

Prompts = typing.Iterable[typing.Iterable[typing.Any]]  # spacy-llm knows no others


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    records = [
        Record(id, tuple(Name(text, "exact" if i else "preferred", "X") for i, text in enumerate(names.split("|"))))
        for id, names in NAMES.items()
    ]
    path = tmp_path_factory.mktemp("homonyms") / "homonyms.kb"
    build_knowledge_base(records, path)
    return str(path)


@pytest.fixture(scope="module")
def kb(path):
    return spacy_sapbert.SpacyKnowledgeBase(spacy.blank("en").vocab, path)


def found(candidates):
    return {candidate.entity_: round(candidate.prior_prob, 3) for candidate in candidates}


def test_candidates(kb, mark):
    assert isinstance(kb, KnowledgeBase)
    assert not kb.is_empty()
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    doc = nlp("Multiple sclerosis (MS) or cold, common colds, commoner colds, zebras.")
    texts = ["MS", "cold", "common colds", "zebras"]
    spans = [doc.char_span(start := doc.text.index(text), start + len(text)) for text in texts]
    expected = [{"D009103": 1.0}, {"D003139": 0.5, "D003080": 0.5}, {"D003139": 1.0}, {}]  # by the long form
    batch = kb.get_candidates_batch(iter(spans))
    assert [found(candidates) for candidates in batch] == expected
    assert [found(kb.get_candidates(span)) for span in spans] == expected
    assert found(kb.get_alias_candidates("MS")) == {"D009103": 0.5, "D009020": 0.5}
    (first, second) = kb.get_alias_candidates("cold")
    assert {first.alias_, second.alias_} == {"cold", "Cold"}
    assert first.kb is kb
    assert np.array_equal(first.entity_vector, kb.get_vector(first.entity_))
    assert kb.get_alias_candidates("") == kb.get_candidates_batch([]) == []


def test_a_similar_name_has_its_probability(kb):
    doc = spacy.blank("en")("multiple sclerosis relapsing")
    candidate, *_ = kb.get_candidates(doc[:])
    assert candidate.entity_ == "D009103"
    assert 0.5 < candidate.prior_prob < 1
    assert kb.get_alias_candidates(doc.text) == []


@pytest.mark.parametrize(("label", "expected"), [("Disease", ["D003139"]), ("Other", ["D003139", "D003080"])])
def test_a_label_that_is_a_type_allows_this_type_only(small_kb, label, expected):
    nlp = spacy.blank("en")
    doc = nlp("cold")
    doc.ents = [doc.char_span(0, 4, label=label)]
    candidates = spacy_sapbert.SpacyKnowledgeBase(nlp.vocab, str(small_kb.path)).get_candidates(doc.ents[0])
    assert {candidate.entity_ for candidate in candidates} == set(expected)


def test_vectors(kb):
    vectors = np.array(kb.get_vectors([*NAMES, "unknown"]))
    assert vectors.shape == (len(NAMES) + 1, kb.entity_vector_length)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1] * len(NAMES) + [0], abs=1e-5)
    encoded = kb._encoder.encode(NAMES["D009103"].split("|")).sum(axis=0)
    assert vectors[2] == pytest.approx(encoded / np.linalg.norm(encoded), abs=1e-5)


def test_annotations_of_a_name_count(path, annotated_document, tmp_path):
    documents = [annotated_document("1", ("MS", "D009103"), ("MS", "D009103"))]
    more = add_training_mentions(spacy_sapbert.load_knowledge_base(path), documents, "X", tmp_path / "more.kb")
    kb = spacy_sapbert.SpacyKnowledgeBase(spacy.blank("en").vocab, str(more.path))
    assert found(kb.get_alias_candidates("MS")) == {"D009103": 0.75, "D009020": 0.25}


def test_files_bytes_and_pickle(kb, path, tmp_path):
    empty = spacy_sapbert.SpacyKnowledgeBase(kb.vocab, None)
    assert empty.is_empty()
    with pytest.raises(SapbertError, match="E105"):
        empty.get_alias_candidates("MS")
    empty.to_disk(tmp_path / "empty")
    assert spacy_sapbert.SpacyKnowledgeBase(kb.vocab, path).from_disk(tmp_path / "empty").is_empty()
    kb.to_disk(tmp_path / "kb")
    for again in (empty.from_disk(tmp_path / "kb"), pickle.loads(pickle.dumps(kb))):
        assert found(again.get_alias_candidates("MS")) == {"D009103": 0.5, "D009020": 0.5}
        assert np.array_equal(again.get_vector("D009103"), kb.get_vector("D009103"))
    again.to_disk(tmp_path / "kb")
    with pytest.raises(SapbertError, match="E121"):
        empty.from_bytes(b"nothing")


CONFIG = """
[nlp]
lang = "en"
pipeline = ["sentencizer", "entity_linker"]

[components]

[components.sentencizer]
factory = "sentencizer"

[components.entity_linker]
factory = "entity_linker"

[components.entity_linker.generate_empty_kb]
@misc = "spacy-sapbert.EmptyKnowledgeBase.v1"

[initialize]

[initialize.components]

[initialize.components.entity_linker]

[initialize.components.entity_linker.kb_loader]
@misc = "spacy-sapbert.KnowledgeBase.v1"
kb = "homonyms.kb"
"""


def test_spacys_entity_linker_reads_the_sentence(path, tmp_path):
    fix_random_seed(0)
    nlp = load_model_from_config(Config().from_str(CONFIG.replace("homonyms.kb", path)), auto_fill=True)
    linker = nlp.get_pipe("entity_linker")
    examples = []
    for text, mention, concept_id in SENTENCES:
        doc = nlp.get_pipe("sentencizer")(nlp.make_doc(text))
        start = text.index(mention)
        doc.ents = [doc.char_span(start, start + len(mention), label="X", kb_id=concept_id)]
        unlinked = doc.copy()
        unlinked.ents = [doc.char_span(start, start + len(mention), label="X")]
        examples.append(Example(unlinked, doc))
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(25):
        linker.update(examples, sgd=optimizer, losses={})
    expected = [concept_id for _, _, concept_id in SENTENCES]
    texts = [example.predicted for example in examples]
    assert linker.predict(texts) == expected
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    again.to_disk(tmp_path / "saved")  # over the files that it has open
    assert again.get_pipe("entity_linker").predict(texts) == expected


def test_spacy_llm_chooses_among_the_candidates(path):
    pytest.importorskip("spacy_llm")
    from spacy_llm.registry import registry

    prompts = []

    @registry.llm_models("second-candidate")
    def make_model():
        def answer(prompts_of_docs: Prompts) -> Prompts:
            for of_doc in prompts_of_docs:
                prompts.extend(of_doc)
                yield ["mention ::: <D009020>" for _ in of_doc]

        return answer

    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    nlp.add_pipe(
        "llm", config={"task": {"@llm_tasks": "spacy.EntityLinker.v1"}, "model": {"@llm_models": "second-candidate"}}
    )
    loader = {"@llm_misc": "spacy-sapbert.KnowledgeBase.v1", "kb": path}
    selector = {"@llm_misc": "spacy.CandidateSelector.v1", "kb_loader": loader}
    nlp.config["initialize"]["components"]["llm"] = {"candidate_selector": selector}
    nlp.initialize()
    ruler.add_patterns([{"label": "X", "pattern": "MS"}, {"label": "X", "pattern": "zebra"}])
    doc = nlp("She took MS like a zebra.")
    assert [ent.kb_id_ for ent in doc.ents] == ["D009020", "NIL"]
    assert "Morphine Sulfate" in prompts[0]
    assert "Multiple Sclerosis" in prompts[0]
