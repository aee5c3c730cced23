"""Candidates that a text cannot mean."""

import pytest
import spacy

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking.agreement import SAME, Agreement
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants
from spacy_sapbert.text.words import joined_letters
from spacy_sapbert.types import Grade, LinkedPart, Name, Record

from ..graded import graded

VOCABULARY = {
    "D:2": ["Mucopolysaccharidosis II", "MPS II"],
    "D:3": ["Mucopolysaccharidosis III", "MPS III"],
    "D:7": ["factor VII deficiency"],
    "D:78": ["combined deficiency of factor VIII", "deficiency of factor VII and factor VIII"],
    "D:L": ["non-small cell lung cancer"],
    "D:S": ["small cell lung carcinoma"],
    "D:H": ["Increased heart rate", "tachycardia"],
    "D:C": ["coronary artery disease", "CAD"],
    "D:P": ["tic"],
    "D:R": ["renal tubular acidosis", "RTA"],
    "D:O": ["OB", "obesity due to leptin deficiency"],
    "D:K": ["DOK7", "docking protein 7"],
    "D:M": ["MS", "multiple sclerosis"],
    "D:V": ["MS", "mitral stenosis"],
    "D:X": ["COX2", "cytochrome oxidase II"],
    "D:Y": ["COX2", "peroxide synthase 2 (cyclooxygenase)"],
    "D:A": ["Palmar dermatitis", "Acute palmar dermatitis"],
    "D:W": ["Weaver disease", "Weaver disease type 1", "Weaver disease type 2"],
    "D:F": ["Afebrile fits", "Attacks"],
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    records = [Record(id, tuple(Name(name, "exact", "X") for name in names)) for id, names in VOCABULARY.items()]
    return build_knowledge_base(records, tmp_path_factory.mktemp("agreement") / "parts.kb")


@pytest.fixture(scope="module")
def agreement(kb):
    return Agreement(kb)


@pytest.fixture(scope="module")
def nlp(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb.path), "encoder": "none", "threshold": 0.8})
    return nlp


def candidates(*pairs):
    return [graded(id, score, name) for id, score, name in pairs]


def test_a_candidate_with_another_number_comes_last_with_its_reason(agreement):
    given = candidates(("D:3", 0.97, "MPS III"), ("D:2", 0.9, "Mucopolysaccharidosis II"), ("D:H", 0.1, "tachycardia"))
    checked = agreement("MPS type II", given)
    assert [candidate.concept_id for candidate in checked] == ["D:2", "D:3", "D:H"]
    assert checked[1] == given[0]._replace(score=0.485, refusal="3 is not 2", grade=Grade.REFUSED)
    assert checked[0] == given[1]


def test_a_concept_with_a_name_that_agrees_is_not_refused(agreement):
    given = candidates(("D:78", 0.9, "combined deficiency of factor VIII"))
    assert agreement("deficient factor 7", given) == given
    assert agreement("deficient factor 9", given)[0].refusal == "8 is not 9"


@pytest.mark.parametrize(
    ("text", "name", "is_same"),
    [
        ("factor 7 deficiency", "deficiency of factor VII", True),
        ("Noonan syndrome type two", "Noonan syndrome 2", True),
        ("MPS 3a", "MPS, type IIIA", True),
        ("kinase 3 pseudogene 4", "kinase 4 pseudogene 3", False),
        ("stage 3 glioma", "glioma 3", False),
    ],
)
def test_the_spelling_of_numerals_does_not_count(agreement, text, name, is_same):
    given = candidates(("D:2", 0.9, name))
    assert (agreement(text, given)[0].score >= SAME) == is_same


def test_numerals_are_looked_up_in_other_spellings(agreement):
    names = {"MPS 3": candidates(("D:3", 0.7, "MPS 2 (3)"), ("D:2", 0.9, "MPS II"))}
    found = agreement.look_up(["MPS three", "MPS"], lambda texts: [names.get(text, []) for text in texts])
    assert found == {"MPS three": candidates(("D:3", 0.7, "MPS 2 (3)")), "MPS": []}


def test_another_word_keeps_its_place_but_is_no_link(agreement, nlp):
    given = candidates(("D:P", 0.95, "calcitonin"), ("D:2", 0.9, "Procalcitonins"), ("D:H", 0.1, "tachycardia"))
    checked = agreement("procalcitonin", [given[0], given[2]])
    assert checked == [given[0]._replace(refusal="it is another word"), given[2]]
    assert agreement("procalcitonin", given)[0].concept_id == "D:2"
    assert agreement("Procalcitonin in serum", [given[0]]) == [given[0]]


@pytest.mark.parametrize("threshold", [None, 0.1])
def test_a_word_is_no_link_to_another_one(kb, threshold):
    linker = Linker(open_generator(kb, None, sparse=True, index="auto"))
    linker.settings.threshold = threshold
    ((part,),) = linker.link([[MentionQuery(MentionVariants("tachycardiol"))]])[0]
    link = linker.links((part,))[0]
    assert (link.concept_id, part.candidates[0].concept_id) == (None, "D:H")
    assert link.reason == "“tachycardia” is not meant: it is another word"


def test_behind_a_name_that_is_the_text_one_candidate_is_checked(agreement):
    given = candidates(("D:1", 0.98, "Weaver disease"), ("D:A", 0.9, "Weaver diseases 2"), ("D:L", 0.8, "Weaver"))
    last = candidates(("D:2", 0.7, "weaver without disease"))[0]
    assert agreement("Weaver disease", [*given, last])[-1] == last
    assert agreement("Weaver disease", [*given, last], checked=4)[-1].refusal is not None


def test_a_name_that_negates_is_refused_for_a_text_without_critical_parts(agreement):
    given = candidates(("D:L", 0.95, "non-small cell lung cancer"), ("D:S", 0.9, "small cell lung carcinoma"))
    checked = agreement("small cell lung cancer", given)
    assert [candidate.concept_id for candidate in checked] == ["D:S", "D:L"]
    assert "negates" in checked[1].refusal


@pytest.mark.parametrize(
    ("text", "id", "name", "is_refused"),
    [
        ("chronic palmar dermatitis", "D:A", "Palmar dermatitis", True),
        ("acute palmar dermatitis of adults", "D:A", "Palmar dermatitis", False),
        ("Weaver disease type 3", "D:W", "Weaver disease", False),  # a class
        ("febrile fits", "D:F", "Afebrile fits", True),
    ],
)
def test_a_concept_with_a_name_for_the_opposite_is_refused_under_all_names(agreement, text, id, name, is_refused):
    (candidate,) = agreement(text, [graded(id, 0.9, name, support=1.5)])
    assert (candidate.refusal is not None) == is_refused


def test_names_with_another_sign_are_not_the_same(agreement):
    candidate, other = agreement(
        "HER2+ disease", candidates(("D:1", 0.9, "HER2- disease"), ("D:2", 0.8, "HER2 disease"))
    )
    assert (candidate.concept_id, other.refusal) == ("D:2", "- is not +")


@pytest.mark.parametrize(("text", "name"), [("CADs", "CAD"), ("c-ad", "CAD"), ("tics", "tic"), ("Tic", "tic")])
def test_short_texts_that_equal_a_name_are_linked(agreement, text, name):
    (candidate,) = agreement(text, candidates(("D:C", 0.9, name)))
    assert (candidate.score, candidate.refusal) == (0.999, None)


def test_a_name_that_is_the_text_comes_before_all_others_whatever_the_prior(agreement):
    given = candidates(("D:S", 0.98, "small cell lung carcinoma"), ("D:L", 0.9, "non-small cell lung cancers"))
    halved = agreement("Non small cell lung cancer", given, lambda some: [c._replace(score=c.score / 2) for c in some])
    assert [(candidate.concept_id, candidate.score) for candidate in halved] == [("D:L", 0.9945), ("D:S", 0.245)]


def test_short_texts_that_are_only_similar_are_refused(agreement):
    given = candidates(*[("D:C", 0.95 - number / 100, "CAD") for number in range(8)])
    assert all(candidate.refusal for candidate in agreement("CAT", given))
    assert agreement("cadet", given) == given


def link(nlp, text):
    doc = nlp.make_doc(text)
    doc.ents = [doc.char_span(0, len(text), label="Disease")]
    (result,) = nlp(doc).ents
    return result._.links[0]


def test_the_linker_says_what_differs(nlp):
    assert link(nlp, "MPS II").concept_id == "D:2"
    missing = link(nlp, "MPS IV")
    assert missing.concept_id is None
    assert missing.reason.endswith(("is not meant: 2 is not 4", "is not meant: 3 is not 4"))
    assert link(nlp, "decreased heart rate").reason == "“Increased heart rate” is not meant: increased is not decreased"
    assert link(nlp, "CAD").concept_id == "D:C"
    assert link(nlp, "CADX").concept_id is None


def test_numbers_that_a_slash_separates_are_not_another_number():
    assert [joined_letters(text) for text in ("CD4/8", "MPS I/II", "P/CAF")] == ["cd4·8", "mpsi·ii", "pcaf"]


@pytest.mark.parametrize(
    ("short", "long_form", "ids"),
    [
        ("RTA", "road traffic accident", []),
        ("RTA", "distal tubular acidosis", ["D:R"]),
        ("OB", "obese mouse", ["D:O"]),  # no other long form is known
        ("DOK7", "downstream of kinase 7", ["D:K"]),  # the number is the same
        ("MS", "mass spectrometry", []),
        ("MS", "stenosis of the mitral valve", ["D:V"]),
        ("COX2", "cyclooxygenase-2", ["D:Y"]),
    ],
)
def test_a_short_form_of_something_else_is_refused(nlp, short, long_form, ids):
    linker = nlp.get_pipe("sapbert_linker").linker
    ((parts,),) = linker.link([[MentionQuery(MentionVariants(short, long_form, name=short))]])
    (link,) = linker.links(parts)
    assert [link.concept_id] == (ids or [None])
    assert ids or link.reason == f"“{short}” is not meant: {short} is “{long_form}” here"


@pytest.mark.parametrize(
    ("short", "long_form", "expected"),
    [
        ("MUC1", "mucin 1", True),
        ("MUC1", "mucin 1 precursor of a gland", False),  # most words are missing
        ("MUC2", "mucin 2", False),  # not a name
        ("MUCS", "mucin 1", False),  # no digit: it may be one of several
        ("MUC1", "", False),
    ],
)
def test_a_symbol_stands_for_what_has_most_words_of_its_long_form(tmp_path, short, long_form, expected):
    names = tuple(Name(text, "exact", "HGNC") for text in ("MUC1", "MUCS", "mucin 1, cell surface associated"))
    agreement = Agreement(build_knowledge_base([Record("HGNC:7508", names)], tmp_path / "genes.kb"))
    score = 0.5 if short == "MUC2" else 1.0
    part = LinkedPart(short, None, (graded("X", 1.0, short, refusal="other"), graded("HGNC:7508", score, short)))
    assert agreement.stands_for(part, long_form) is expected


def test_a_short_form_is_a_name_unless_its_long_form_has_the_score_of_a_link(kb):
    linker = Linker(open_generator(kb, None, sparse=True))
    assert linker.threshold == 0.5  # of the probability, but forms are compared by their scores
    ((parts,),) = linker.link([[MentionQuery(MentionVariants("CAD", "carotid artery dissection"))]])
    assert (parts[0].text, parts[0].candidates[0].concept_id) == ("CAD", "D:C")
    ((long,),) = linker.link([[MentionQuery(MentionVariants("carotid artery dissection"))]])
    assert 0.5 < long[0].candidates[0].score < 0.85


@pytest.mark.parametrize(("text", "name"), [("T1-2", "T12"), ("H1.2", "H12"), ("CD 4 8", "CD48"), ("CD4/8", "CD48")])
def test_numbers_are_not_joined(agreement, text, name):
    assert agreement(text, candidates(("D:C", 0.9, name)))[0].refusal
    assert joined_letters(text) != joined_letters(name)


def test_all_candidates_are_checked_that_a_prior_may_choose(agreement):
    given = candidates(*((f"D:{number}", 0.9, "MPS II") for number in range(7)), ("D:3", 0.8, "MPS III syndrome"))
    assert agreement("MPS II disease", given)[-1].refusal is None
    assert agreement("MPS II disease", given, checked=20)[-1].refusal == "3 is not 2"


def test_a_text_of_chinese_characters_is_not_short(agreement):
    assert agreement("糖尿病性", candidates(("D:C", 0.8, "糖尿病")))[0].refusal is None


@pytest.mark.parametrize(
    ("text", "concept_id", "name", "is_another"),
    [
        ("leptin receptor", "D:B", "leptin", True),
        ("receptors of leptin", "D:B", "leptin", True),
        ("Tac2-kinase", "D:T", "Tac2", True),
        ("Tac2 receptor", "D:T", "Tac2", False),  # another of its names is that of a receptor
        ("leptin receptor", "D:B", "human leptin", False),  # the name says something else, too
        ("receptor-positive leptin", "D:B", "leptin", False),  # the kind is not the last word
    ],
)
def test_a_concept_of_another_kind_keeps_its_place_and_is_not_linked(tmp_path, text, concept_id, name, is_another):
    records = [
        Record("D:B", (Name("leptin", "exact", "X"),)),
        Record("D:T", (Name("Tac2", "exact", "X"), Name("a receptor of tachykinin", "exact", "X"))),
    ]
    agreement = Agreement(build_knowledge_base(records, tmp_path / "kinds.kb"))
    (first,) = agreement(text, [graded(concept_id, 0.9, name)._replace(similarity=0.9)])
    assert first.score == 0.9
    assert (first.refusal is not None) is is_another
