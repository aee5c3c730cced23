import shutil

import pytest
import spacy
from spacy.cli.package import generate_readme
from spacy.training import Example

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.review.corrections import Correction
from spacy_sapbert.review.corrections_file import CorrectionsFile
from spacy_sapbert.types import Name, Record

TEXT = "Breast and ovarian cancer; cystic fibrosis (CF). CF patients."


@pytest.fixture(scope="module")
def ner(tmp_path_factory):
    """A saved pipeline that finds two mentions and knows nothing of concepts."""
    nlp = spacy.blank("en")
    patterns = [{"label": "DISEASE", "pattern": text} for text in ("ovarian cancer", "zebra")]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    nlp.meta["name"] = "finder"
    folder = tmp_path_factory.mktemp("ner") / "pipeline"
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def other_kb(tmp_path):
    record = Record("X1", (Name("cystic fibrosis", "preferred", "own"), Name("mucoviscidosis", "exact", "own")))
    return build_knowledge_base([record], tmp_path / "other.kb").path


@pytest.fixture
def output(tmp_path):
    return tmp_path / "new" / "pipeline"


def test_spacy_makes_a_card_of_the_pipeline(command, small_vocabulary, other_kb, tmp_path, output):
    about = {"title": "Small diseases", "home": "https://example.org"}
    origin = {"licence": "CC0", "release": "2026-01", "catalog": about}
    kb = build_knowledge_base(small_vocabulary, tmp_path / "small.kb", origin)
    assert command("assemble", "-o", output, "--kb", kb.path).status == 0
    card = generate_readme(spacy.load(output).meta)
    counts = f"{len(kb)} concepts, {kb.n_names} names"
    for text in (
        f"[Small diseases 2026-01: {counts}. License: CC0](https://example.org)",
        "`NIL`",
        "Vocabulary: Small",
    ):
        assert text in card
    assert command("assemble", "-o", output, "--from", output, "--kb", other_kb).status == 0
    assert [source["name"] for source in spacy.load(output).meta["sources"]] == ["own: 1 concepts, 2 names"]


def links(folder, *texts):
    nlp = spacy.load(folder)
    return [(ent.text, ent.kb_id_) for text in texts or (TEXT,) for ent in nlp(text).ents]


def test_a_pipeline_that_needs_nothing_else(command, small_kb, tmp_path, output):
    kb = shutil.copyfile(small_kb.path, tmp_path / "a.kb")
    finished = command("assemble", "-o", output, "--kb", kb)
    assert (finished.status, finished.out) == (0, b"")
    assert finished.err.endswith(
        "pipeline: abbreviation_resolver, concept_matcher, composite_splitter, sapbert_linker\n"
    )
    kb.unlink()
    assert links(output) == [
        ("Breast and ovarian cancer", "D001943|D010051"),
        ("cystic fibrosis", "D003550"),
        ("CF", "D003550"),
        ("CF", "D003550"),
    ]
    assert spacy.load(output).meta["name"] == "linker"
    assert [path.name for path in output.parent.iterdir()] == ["pipeline"]


def test_nested_names(command, small_kb, output):
    options = ("--kb", small_kb.path, "--encoder", "none", "--nested", "--notes")
    assert command("assemble", "-o", output, *options).status == 0
    nlp = spacy.load(output)
    keys = {name: getattr(component, "spans_key", None) for name, component in nlp.pipeline}
    assert {name for name, key in keys.items() if key == "nested"} == {
        "concept_matcher",
        "composite_splitter",
        "sapbert_linker",
        "assertion_detector",
    }
    doc = nlp("No breast cancer. Breast and ovarian cancer.")
    assert {(span.text, span.kb_id_, span._.assertion) for span in doc.spans["nested"]} >= {
        ("breast cancer", "D001943", ("negated",)),
        ("cancer", "D009369", ("negated",)),
        ("Breast and ovarian cancer", "D001943|D010051", ()),
        ("ovarian cancer", "D010051", ()),
    }
    assert [ent._.links[0].concept_id for ent in doc.ents] == ["D001943", "D001943"]


def test_an_ner_finds_no_nested_names(command, small_kb, output):
    refused = command("assemble", "-o", output, "--kb", small_kb.path, "--nested", "--ner", "box")
    assert (refused.status != 0, "--ner none" in refused.err, output.exists()) == (True, True, False)


def test_with_an_encoder(command, small_kb, tiny_encoder, output):
    options = ("--pooling", "cls", "--index", "SQ8", "--lang", "de")
    assert command("assemble", "-o", output, "--kb", small_kb.path, "--encoder", tiny_encoder, *options).status == 0
    nlp = spacy.load(output)
    assert (nlp.lang, nlp.config["components"]["sapbert_linker"]["index"]) == ("de", "SQ8")
    encoder = nlp.get_pipe("sapbert_linker").linker.generator.vectors.encoder
    assert (encoder.pooling, encoder.name.startswith(str(output))) == ("cls", True)
    assert links(output, "cystic fibrosis") == [("cystic fibrosis", "D003550")]
    assert len(list((output / "shared").glob("index-*/SQ8.faiss"))) == 1


def test_behind_a_trained_pipeline(command, ner, small_kb, output):
    finished = command("assemble", "-o", output, "--kb", small_kb.path, "--encoder", "none", "--ner", ner)
    assert finished.err.endswith("entity_ruler, abbreviation_resolver, composite_splitter, sapbert_linker\n")
    assert links(output, TEXT, "a zebra") == [("ovarian cancer", "D010051"), ("zebra", "NIL")]
    assert spacy.load(output).meta["name"] == "linker"


DISEASES = [Record("X1", (Name("ovarian cancer", "EXACT", "own"),), types=("Disease",))]


def test_the_ner_in_the_package_is_used_if_it_has_all_types(command, small_kb, tmp_path, output):
    kb = tmp_path / "diseases.kb"
    build_knowledge_base(DISEASES, kb)
    options = ("--kb", kb, "--encoder", "none")
    assert (
        "ner, repeated_mentions, composite_splitter, sapbert_linker" in command("assemble", "-o", output, *options).err
    )
    text = "BRCA1 in ovarian cancer."
    assert links(output, text) == [("ovarian cancer", "X1")]  # only diseases
    newer = build_knowledge_base([DISEASES[0]._replace(concept_id="X2")], tmp_path / "newer.kb").path
    assert command("assemble", "-o", tmp_path / "second", "--from", output, "--kb", newer).status == 0
    assert links(tmp_path / "second", text) == [("ovarian cancer", "X2")]
    features = spacy.load(tmp_path / "second").get_pipe("concept_matcher").kb
    assert len(features) == len(load_knowledge_base("starter"))  # the NER reads the names that it was trained with
    assert "ner" not in command("assemble", "-o", output, *options, "--ner", "none").err.split(", ")
    assert "ner" not in command("assemble", "-o", output, *options, "--lang", "de").err.split(", ")
    mixed = ("--kb", small_kb.path, "--encoder", "none")
    assert "ner" not in command("assemble", "-o", output, *mixed).err.split(", ")
    assert "ner" in command("assemble", "-o", output, *mixed, "--ner", "box").err.split(", ")
    assert links(output, text) == [("ovarian cancer", "D010051")]


def test_the_types_of_labels_are_in_the_new_vocabulary(command, small_kb, other_kb, output, tmp_path):
    options = ("--kb", small_kb.path, "--encoder", "none", "--ner", "box")
    assert command("assemble", "-o", output, *options).status == 0
    refused = command("assemble", "-o", tmp_path / "second", "--from", output, "--kb", other_kb)
    assert refused.status != 0
    assert "which" in refused.err
    assert "--ner" in refused.err
    assert not (tmp_path / "second").exists()


def test_external_storage(command, small_kb, other_kb, tmp_path, output):
    kb = shutil.copyfile(small_kb.path, tmp_path / "a.kb")
    options = ("--kb", kb, "--encoder", "none", "--storage", "external")
    assert command("assemble", "-o", output, *options).status == 0
    assert not list(output.rglob("*.kb"))
    assert links(output)[1] == ("cystic fibrosis", "D003550")
    assert command("assemble", "-o", tmp_path / "second", "--from", output, "--kb", other_kb).status == 0
    assert not list((tmp_path / "second").rglob("*.kb"))
    kb.unlink()
    with pytest.raises(SapbertError, match="E305"):
        spacy.load(output)
    assert links(tmp_path / "second", "mucoviscidosis") == [("mucoviscidosis", "X1")]


# --- flags of mentions


def test_assertion_is_added_with_sentences(command, small_kb, ner, tmp_path, output):
    options = ("--kb", small_kb.path, "--encoder", "none", "--assertion")
    finished = command("assemble", "-o", output, *options, "--ner", ner)
    assert finished.err.endswith("sapbert_linker, sentencizer, assertion_detector\n")
    doc = spacy.load(output)("No ovarian cancer. A zebra.")
    assert [(ent.kb_id_, ent._.assertion) for ent in doc.ents] == [("D010051", ("negated",)), ("NIL", ())]
    again = tmp_path / "again"
    command("assemble", "-o", again, "--from", output, "--kb", small_kb.path, "--assertion")
    assert spacy.load(again).pipe_names == spacy.load(output).pipe_names
    nlp = spacy.blank("en")
    example = Example.from_dict(nlp.make_doc("No cold. A zebra."), {"sent_starts": [1, -1, -1, 1, -1, -1]})
    nlp.add_pipe("senter").initialize(lambda: [example], nlp=nlp)
    nlp.to_disk(tmp_path / "senter")
    finished = command("assemble", "-o", tmp_path / "own", *options, "--ner", tmp_path / "senter")
    assert "sentencizer" not in finished.err


def test_notes_have_short_forms_and_flags(command, small_kb, ner, tmp_path, output):
    for options in ([], ["--ner", ner]):
        finished = command("assemble", "-o", output, "--kb", small_kb.path, "--notes", *options)
        assert "assertion_detector" in finished.err
        assert spacy.load(output).get_pipe("abbreviation_resolver").clinical
    assert command("assemble", "-o", output, "--kb", small_kb.path, "--notes", "--lang", "es").status == 0
    assert not spacy.load(output).get_pipe("abbreviation_resolver").clinical
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver", config={"known": [["XQ", "zebra"]]})
    nlp.to_disk(tmp_path / "own")
    command("assemble", "-o", output, "--kb", small_kb.path, "--notes", "--ner", tmp_path / "own")
    resolver = spacy.load(output).get_pipe("abbreviation_resolver")
    assert (resolver.clinical, resolver.known) == (True, {"XQ": "zebra"})


# --- another vocabulary


def test_another_vocabulary(command, small_kb, tiny_encoder, other_kb, tmp_path, output):
    options = ("--kb", small_kb.path, "--encoder", tiny_encoder)
    command("assemble", "-o", output, *options)
    finished = command("assemble", "-o", tmp_path / "second", "--from", output, "--kb", other_kb)
    assert finished.status == 0
    other_kb.unlink()
    assert links(tmp_path / "second") == [("cystic fibrosis", "X1"), ("CF", "X1"), ("CF", "X1")]
    shared = sorted(path.name.partition("-")[0] for path in (tmp_path / "second" / "shared").iterdir())
    assert shared == ["encoder", "kb", "matcher", "ngrams", "vectors"]
    assert links(output)[1] == ("cystic fibrosis", "D003550")
    nlp = spacy.load(tmp_path / "second")
    assert nlp.get_pipe("sapbert_linker").linker.generator.vectors.encoder.pooling == "mean"
    assert nlp.meta["name"] == "linker"


def test_another_vocabulary_in_its_own_place(command, small_kb, other_kb, output):
    command("assemble", "-o", output, "--kb", small_kb.path, "--encoder", "none")
    assert command("assemble", "-o", output, "--from", output, "--kb", other_kb).status == 0
    assert links(output, "mucoviscidosis") == [("mucoviscidosis", "X1")]
    assert [path.name for path in output.parent.iterdir()] == ["pipeline"]


# --- what does not go


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "{ner}", "--ner", "{ner}"], "[E533]"),
        (["--from", "{ner}", "--encoder", "none"], "[E533]"),
        (["--from", "{ner}", "--storage", "external"], "[E533]"),
        (["--storage", "elsewhere"], "[E406]"),
        (["--from", "{ner}"], "needs --kb"),
        (["--from", "{ner}", "--kb", "starter"], "has no component with a vocabulary"),
        (["--from", "{tmp}/missing", "--kb", "starter"], "[E501]"),
        (["--ner", "{tmp}/missing"], "[E501]"),
        (["--ner", "box", "--lang", "de"], "reads English only"),
        (["--ner", "{tmp}"], "[E502]"),
        (["--ner", "{linker}"], "sapbert_linker already; --from"),
        (["--kb", "{tmp}/missing.kb"], "[E504]"),
        (["--encoder", "{tmp}"], "[E302]"),
        (["--pooling", "max", "--encoder", "nobody/nothing"], "[E406]"),
    ],
)
def test_errors_leave_nothing(command, ner, linking_folder, tmp_path, output, options, message):
    folders = {"ner": ner, "tmp": tmp_path, "linker": linking_folder}
    finished = command("assemble", "-o", output, *(option.format(**folders) for option in options))
    assert (finished.status, finished.out) == (1, b"")
    assert message in finished.err
    assert not output.parent.exists() or list(output.parent.iterdir()) == []


def test_what_an_ner_needs_before_it_stays_there(command, tmp_path, output):
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("concept_matcher", config={"spans_key": "names"})
    nlp.add_pipe("entity_ruler")
    nlp.to_disk(tmp_path / "ner_with_names")
    assert command("assemble", "-o", output, "--ner", tmp_path / "ner_with_names").status == 0
    names = spacy.load(output).pipe_names
    assert names == ["abbreviation_resolver", "concept_matcher", "entity_ruler", "composite_splitter", "sapbert_linker"]


def test_what_is_no_pipeline_is_not_overwritten(command, small_kb, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.txt").write_text("dear")
    for path in (tmp_path / "notes", tmp_path / "notes" / "thesis.txt"):
        finished = command("assemble", "-o", path, "--kb", small_kb.path, "--encoder", "none")
        assert finished.status == 1
        assert "[E507]" in finished.err
    assert (tmp_path / "notes" / "thesis.txt").read_text() == "dear"


def test_a_failure_keeps_the_pipeline_that_was_there(command, small_kb, tmp_path, output):
    command("assemble", "-o", output, "--kb", small_kb.path, "--encoder", "none")
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    assert command("assemble", "-o", output, "--kb", tmp_path / "missing.kb").status == 1
    assert {path: path.read_bytes() for path in output.rglob("*") if path.is_file()} == before
    assert [path.name for path in output.parent.iterdir()] == ["pipeline"]


def test_corrections_are_in_the_pipeline(command, small_kb, tmp_path, output):
    file = CorrectionsFile(tmp_path / "c.db", create=True)
    file.add([Correction("replace", "everywhere", "k", 0, 15, "cystic fibrosis", ("D001241",))])
    options = ("--kb", small_kb.path, "--encoder", "none")
    assert command("assemble", "-o", output, *options, "--corrections", file.path).status == 0
    assert command("assemble", "-o", tmp_path / "plain", *options).status == 0
    again = ("--from", tmp_path / "plain", "--corrections", file.path)
    file.add([Correction("replace", "everywhere", "k", 0, 9, "glorkness", ("ZZZ:2",))])
    with pytest.warns(UserWarning, match="W417.*ZZZ:2"):  # which the vocabulary lacks
        assert command("assemble", "-o", tmp_path / "second", *again).status == 0
    file.path.unlink()
    for folder in (output, tmp_path / "second"):
        assert links(folder, "Cystic fibrosis.") == [("Cystic fibrosis", "D001241")]
    missing = command("assemble", "-o", tmp_path / "third", *options, "--corrections", file.path)
    assert (missing.status, "E120" in missing.err) == (1, True)
