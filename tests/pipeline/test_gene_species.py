import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

import spacy_sapbert.pipeline.gene_species  # noqa: F401  registers the factory
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.pipeline import evaluate_pipeline
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.pipeline.attributes import get_links
from spacy_sapbert.types import Alternative, Document, Mention

TABLE = """id\tname\tsynonyms\ttypes
HGNC:11998\tTP53\tp53|TRP53\tGene
HGNC:6553\tLEP\tleptin\tGene
NCBITaxon:9606\tHomo sapiens\tpatients\tSpecies
NCBITaxon:10090\tMus musculus\tmice\tSpecies
"""
TEXT = "Loss of Trp53 in mice was known. In patients, leptin fell."
REASON = 'a gene of another species, NCBITaxon:10090, as "mice" shows'
PATTERNS = [("Species", "mice"), ("Species", "patients"), ("Gene", "Trp53"), ("Gene", "leptin"), ("Gene", "TP54x9")]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("genes")
    (folder / "names.tsv").write_text(TABLE, encoding="utf-8")
    records = read_vocabulary(folder / "names.tsv", "table", report=ReadReport())
    return str(build_knowledge_base(records, folder / "names.kb").path)


@pytest.fixture
def nlp(kb):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": label, "pattern": text} for label, text in PATTERNS])
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none"})
    nlp.add_pipe("gene_species")
    return nlp


def ids(mentions):
    return {mention.text: mention.kb_id_ for mention in mentions}


def test_genes_of_other_species_have_no_link(nlp):
    doc = nlp(TEXT)
    assert ids(doc.ents) == {
        "Trp53": "NIL",
        "mice": "NCBITaxon:10090",
        "patients": "NCBITaxon:9606",
        "leptin": "HGNC:6553",
    }
    (link,) = doc.ents[0]._.links
    assert (link.concept_id, link.reason) == (None, REASON)
    assert link.rejected == Alternative("HGNC:11998", link.score, "TRP53", link.probability)
    assert doc.ents[0]._.kb_ents == []
    assert doc.ents[3]._.links[0].reason is None


def test_orthologs_keep_the_link_and_name_the_species(nlp):
    nlp.get_pipe("gene_species").orthologs = True
    doc = nlp(TEXT)
    assert ids(doc.ents)["Trp53"] == "HGNC:11998"
    (link,) = doc.ents[0]._.links
    assert link.reasons[-1] == 'the gene in the text is of another species, NCBITaxon:10090, as "mice" shows'
    assert doc.ents[0]._.kb_ents
    assert not doc.ents[3]._.links[0].reasons
    assert nlp("TP54x9 fell in mice.").ents[0]._.links[0].reasons == ()


def test_a_gene_that_was_not_linked_gets_the_reason_as_well(nlp):
    before = nlp("TP54x9 fell.").ents[0]._.links[0]
    (after,) = nlp("TP54x9 fell in mice.").ents[0]._.links
    assert before.concept_id is after.concept_id is None
    assert "threshold" in before.reason
    assert after.reason == REASON
    assert after.rejected == before.rejected


def test_the_word_for_a_species_that_is_not_linked_counts(nlp):
    nlp.get_pipe("sapbert_linker").label_types = {"Species": ["Gene"]}
    assert ids(nlp("Trp53 fell in mice.").ents) == {"Trp53": "NIL", "mice": "NIL"}


def test_sentences_of_the_document_count(nlp):
    text = "In mice leptin fell and in patients Trp53 rose and leptin too"
    doc = nlp.make_doc(text)
    spacy_sentence = text.split().index("and") + 1
    for token in doc:
        token.is_sent_start = token.i in (0, spacy_sentence, len(doc) - 3)
    doc = nlp(doc)
    assert [(one.text, one.kb_id_) for one in doc.ents if one.label_ == "Gene"] == [
        ("leptin", "NIL"),
        ("Trp53", "HGNC:11998"),
        ("leptin", "HGNC:6553"),  # no species in its sentence, and as many patients as mice
    ]


def test_genes_of_a_span_group_and_other_labels(nlp):
    nlp.get_pipe("sapbert_linker").spans_key = "found"
    detector = nlp.get_pipe("gene_species")
    detector.spans_key, detector.gene_labels, detector.species_labels = "found", ["PROTEIN"], ["ORGANISM"]
    doc = nlp.make_doc(TEXT)
    doc.spans["found"] = [Span(doc, 2, 3, label="PROTEIN"), Span(doc, 4, 5, label="ORGANISM")]
    doc = nlp(doc)
    assert ids(doc.spans["found"]) == {"Trp53": "NIL", "mice": "NCBITaxon:10090"}
    assert nlp("no such group").spans == {}


def test_gold_mentions_are_treated_alike(nlp):
    text = "Trp53 fell in mice."
    gold = [Mention(0, 5, "Trp53", "Gene", ("HGNC:11998",)), Mention(14, 18, "mice", "Species", ("NCBITaxon:10090",))]
    result = evaluate_pipeline(nlp, [Document("1", text, tuple(gold))], gold_mentions=True)
    assert {label: one["found"] for label, one in result["span_id"]["types"].items()} == {"Gene": 0, "Species": 1}


def test_a_vocabulary_of_mouse_genes(nlp):
    nlp.replace_pipe("gene_species", "gene_species", config={"home": "NCBITaxon:10090"})
    assert ids(nlp(TEXT).ents)["Trp53"] == "HGNC:11998"
    assert ids(nlp(TEXT).ents)["leptin"] == "NIL"


def test_the_links_survive_saving(nlp, tmp_path):
    nlp.replace_pipe("gene_species", "gene_species", config={"prefixes": {"m": "NCBITaxon:10090"}})
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    assert loaded.get_pipe("gene_species").prefixes == {"m": "NCBITaxon:10090"}
    doc = loaded(TEXT)
    assert get_links(doc.ents[0])[0].reason == REASON
    (loaded,) = DocBin(store_user_data=True, docs=[doc]).get_docs(nlp.vocab)
    assert get_links(loaded.ents[0]) == get_links(Doc(nlp.vocab).from_bytes(doc.to_bytes()).ents[0])


@pytest.mark.parametrize(
    ("setting", "value"), [("organisms", ["NCBITaxon:10090"]), ("prefixes", {"mm": "NCBITaxon:10090"})]
)
def test_settings_that_cannot_work(setting, value):
    with pytest.raises(SapbertError, match=rf"E406.*{setting}"):
        spacy.blank("en").add_pipe("gene_species", config={setting: value})
