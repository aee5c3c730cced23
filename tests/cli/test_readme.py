"""What the README and the pages in docs/ show works as it says."""

import gzip
import json
import re
import shutil
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import spacy
import srsly

from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.types import Name, Record

from ..belb_files import write_corpus, write_kb

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def all_blocks(page):
    return re.findall(r"```(\w+)\n(.*?)```", page.read_text(encoding="utf8"), flags=re.DOTALL)


def blocks(language):
    return [text for name, text in all_blocks(ROOT / "README.md") if name == language]


# here, or in test_pages.py
RUN_BELOW = {
    "pretraining",
    "languages",
    "ner",
    "coming-from-scispacy",
    "packaging",
    "vocabularies",
    "health-records",
    "corpora-at-scale",
}


WITH_CODE = [page for page in PAGES if page.stem not in RUN_BELOW and "```python" in page.read_text(encoding="utf8")]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_a_page_prints_what_stands_below_its_code(page, whole_vocabulary, capsys, tmp_path, monkeypatch):
    """The code of a page is one program; a text block right after code is what that prints."""
    monkeypatch.chdir(tmp_path)
    namespace = {}
    found = all_blocks(page)
    for (language, text), (following, expected) in zip(found, [*found[1:], ("", "")], strict=True):
        if language == "python":
            exec(text, namespace)
            if following == "text":
                assert capsys.readouterr().out == expected


def test_the_ten_lines_print_what_stands_below_them(whole_vocabulary, capsys):
    exec(blocks("python")[0], {})
    assert capsys.readouterr().out == blocks("text")[0]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the files that the commands name."""
    monkeypatch.chdir(tmp_path)
    Path("medic.txt").write_text("D003920||Diabetes Mellitus|Diabetes\nD009203||Myocardial Infarction|Heart Attack\n")
    Path("medic.txt").rename("medic.txt.gz")  # gzip is seen from the content
    srsly.write_jsonl("abstracts.jsonl", [{"id": "1", "text": "A heart attack in diabetes."}])
    ner = spacy.blank("en")
    patterns = [{"label": "DISEASE", "pattern": name} for name in ("diabetes", "heart attack")]
    ner.add_pipe("entity_ruler").add_patterns(patterns)
    ner.to_disk("en_ner_bc5cdr_md")
    Path("corpus.pubtator").write_text(
        "1|t|A heart attack or diabetes\n1|a|\n1\t2\t14\theart attack\tDisease\tD009203\n"
        "1\t2\t26\theart attack or diabetes\tDisease\tD009203|D003920\theart attack|diabetes\n\n"
        "2|t|Diabetes\n2|a|\n2\t0\t8\tDiabetes\tDisease\tD009203\n"
    )
    return tmp_path


def test_the_commands_run(workplace, run_page):
    run_page("../README", {"pip install": "true", "make ": "true "}, commands_only=True)
    assert (workplace / "demo.html").is_file()
    assert "D009203" in (workplace / "links.csv").read_text()
    assert "Diabetes" in (workplace / "errors.tsv").read_text()


RELEASE = {
    "MRCONSO.RRF": """\
C9000001|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|X1|Myocardial Infarction|0|N||
C9000001|ENG|S|L2|PF|S2|Y|A2||||SNOMEDCT_US|SY|X1|Heart Attack|0|N||
C9000001|SPA|P|L3|PF|S3|Y|A3||||MSHSPA|MH|X1|Infarto|0|N||
C9000002|ENG|P|L4|PF|S4|Y|A4||||MSH|MH|X2|Aspirin|0|N||
""",
    "MRSTY.RRF": "C9000001|T047|B2.2.1.2.1|Disease or Syndrome|AT1||\nC9000002|T121|A1.4.1|Drug|AT2||\n",
}
OBO = """\
format-version: 1.2

[Term]
id: DOID:5844
name: myocardial infarction
synonym: "cardiac infarct" EXACT []
xref: UMLS_CUI:C9000001

[Term]
id: DOID:9351
name: diabetes mellitus
synonym: "diabetes" EXACT []
"""
MAPPING = "subject_id\tpredicate_id\tobject_id\nDOID:5844\tskos:exactMatch\tUMLS:C9000001\n"
SPANISH = (
    "translation_language\tsubject_id\tpredicate_id\ttranslation_value\n"
    "es\tDOID:9351\trdfs:label\tenfermedad del azúcar\n"
)
SNOMED = {
    "Concept": "id effectiveTime active moduleId definitionStatusId|1 20990101 1 2 3",
    "Description-en": "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId"
    "|4 20990101 1 2 1 en 900000000000013009 Fever 5|6 20990101 1 2 1 es 900000000000013009 Fiebre 5",
}
ICD10CM = """\
<ICD10CM.tabular><version>2099</version><chapter><name>1</name><desc>Fevers (A00-A09)</desc><section id="A00-A09">
<desc>Fevers (A00-A09)</desc><diag><name>A00</name><desc>Red fever</desc></diag></section></chapter></ICD10CM.tabular>
"""
LOINC = {
    "LOINC_NUM": "1-8", "COMPONENT": "Redness", "SYSTEM": "Skin", "CLASS": "SKIN", "DefinitionDescription": "",
    "STATUS": "ACTIVE", "CONSUMER_NAME": "", "RELATEDNAMES2": "", "SHORTNAME": "Red Skn",
    "LONG_COMMON_NAME": "Redness of skin", "DisplayName": "",
}  # fmt: skip
OWL = """\
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
    xmlns:owl="http://www.w3.org/2002/07/owl#"><owl:Class rdf:about="http://purl.obolibrary.org/obo/MONDO_1">
<rdfs:label>red fever</rdfs:label></owl:Class></rdf:RDF>
"""
SKOS = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/F_1> a skos:Concept ; skos:prefLabel "red fever"@en , "fiebre roja"@es .
"""
CORPUS = "1|t|Sugar disease\n1|a|\n1\t0\t13\tSugar disease\tDisease\tDOID:9351\n\n"


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A folder with the files that the page on vocabularies names, all content invented."""
    monkeypatch.chdir(tmp_path)
    Path("2024AA").mkdir()
    for name, text in RELEASE.items():
        (Path("2024AA") / name).write_text(text)
    Path("doid.obo").write_text(OBO)
    Path("hp.obo").write_text("[Term]\nid: HP:1\nname: Pale skin\n")
    Path("drugs.csv").write_text("accession,common,others\nDB1,Aspirin,ASA|Acetylsalicylate\n")
    Path("genes.tsv").write_text("BRCA9\t1\nbreast gene nine\t1\n")
    Path("hgnc.tsv").write_text("HGNC ID\tSymbol\tEntrez\tUniProt\nHGNC:5\tA1BG\t1\tP04217\n")
    Path("doid.sssom.tsv").write_text(MAPPING)
    Path("corpus.txt").write_text(CORPUS)
    Path("doid-es.babelon.tsv").write_text(SPANISH)
    write_terminologies()


def write_terminologies():
    tables = {
        f"sct2_{name.replace('-', '_Snapshot-')}{'' if '-' in name else '_Snapshot'}_INT_20990101.txt": rows
        for name, rows in SNOMED.items()
    }
    folder = Path("SnomedCT_SpanishRelease/Snapshot/Terminology")
    folder.mkdir(parents=True)
    with ZipFile("SnomedCT_InternationalRF2_PRODUCTION_20250101T120000Z.zip", "w") as packed:
        for name, rows in tables.items():
            (folder / name).write_text(rows.replace(" ", "\t").replace("|", "\n") + "\n")
            packed.write(folder / name, f"Snapshot/Terminology/{name}")
    Path("RxNorm_full_01022025").mkdir()
    atoms = ("9|ENG||||||1||||RXNORM|IN|1|rubrin||N||", "10|ENG||||||2||||RXNORM|BN|2|Redex||N||")
    Path("RxNorm_full_01022025/RXNCONSO.RRF").write_text("".join(f"{atom}\n" for atom in atoms))
    Path("icd10cm_tabular_2025.xml").write_text(ICD10CM)
    Path("Loinc_2.80/LoincTable").mkdir(parents=True)
    Path("Loinc_2.80/LoincTable/Loinc.csv").write_text("\n".join(map(",".join, (LOINC, LOINC.values()))) + "\n")
    Path("mondo.owl").write_text(OWL)
    Path("thesaurus.ttl").write_text(SKOS)


# tests/cli/test_pages.py runs the section on general words
SECTIONS = ("Build", "Recipes", "Merge several sources", "Inspect", "Finding new names", "Synonym pairs for training")


def test_the_page_on_vocabularies_runs(sources, run_page, command):
    run_page("vocabulary-catalog", section="Formats")
    for section in SECTIONS:
        run_page("vocabularies", section=section)
    infarct = KnowledgeBase("merged.kb").get("DOID:5844")
    assert {"Heart Attack", "cardiac infarct"} <= set(infarct.aliases)
    assert infarct.alternative_ids == ("C9000001",)
    assert KnowledgeBase("human_genes.kb").get("HGNC:5").alternative_ids == ("NCBIGene:1",)
    assert len(Path("pairs.txt").read_text().splitlines()) == 2
    terminologies = ("snomed", "snomed-es", "rxnorm", "ingredients", "icd10cm", "loinc", "mondo", "thesaurus")
    assert [KnowledgeBase(f"{name}.kb").n_names for name in terminologies] == [1, 2, 2, 2, 2, 2, 1, 2]
    assert "sugar disease" in Path("task.txt").read_text()
    assert b"DOID:5844" in command("kb", "search", "doid.kb", "DOID:5844").out
    shown = [block for language, block in all_blocks(ROOT / "docs" / "vocabularies.md") if language == "text"]
    assert Path("drugs.csv").read_text() in shown
    found = command("kb", "search", "drugs.kb", "ASA").err
    assert [line.rstrip() for line in found.splitlines()] in [block.splitlines() for block in shown]
    build = "kb build drugs.csv --column id=accession --column name=common --column synonyms=others"
    built = command(*build.split(), "-o", "drugs.kb").err
    assert [line.rstrip() for line in built.splitlines()] in [block.splitlines() for block in shown]


@pytest.fixture
def training_place(tmp_path, monkeypatch, tiny_encoder):
    """A folder with the files that the page on pretraining names."""
    monkeypatch.chdir(tmp_path)
    Path("medic.txt.gz").write_text(
        "D003920||Diabetes Mellitus|Diabetes|Sugar Disease\nD009203||Myocardial Infarction|Heart Attack\n"
    )
    Path("corpus.pubtator").write_text(
        "1|t|A cardiac infarct in diabetes\n1|a|\n1\t2\t17\tcardiac infarct\tDisease\tD009203\n"
        "1\t21\t29\tdiabetes\tDisease\tD003920\n\n"
    )
    Path("names.txt").write_text("heart attack\ndiabetes\n")
    for name in ("kg-mnr.cfg", "kg-triplet.cfg", "starter-table.cfg"):
        shorter = (ROOT / "configs" / name).read_text().replace("max_steps = 3000", "max_steps = 2")
        Path(name).write_text(shorter.replace("words = 32768", "words = 100").replace("ngrams = 65536", "ngrams = 200"))
    shutil.copytree(tiny_encoder, "base")
    return tmp_path


def test_the_commands_on_pretraining_run(training_place, command, run_page, make_encoder):
    slow = "kg-aligned -o"
    smaller = "kg-aligned --pairs.min_names 4 --pairs.concepts 12 --pairs.eval_pairs 10 --pairs.plot_pairs 3 -o"
    words = ("cold", "flu", "ache", "itch")
    names = [tuple(Name(f"{word} {number}", "exact", "s") for word in words) for number in range(12)]
    build_knowledge_base([Record(f"C{number}", some) for number, some in enumerate(names)], Path("names.kb"))
    run_page("pretraining", {slow: smaller})
    assert {"model-last", "log.jsonl", "config.cfg"} <= {path.name for path in Path("run").iterdir()}
    assert np.load("vectors.npy").shape[0] == 2
    assert Path("bare/model-last").is_dir()
    config = Path("pretrain.cfg").read_text().replace("evaluation = null\n", "")
    (evaluation,) = [text for language, text in all_blocks(ROOT / "docs" / "pretraining.md") if language == "ini"]
    Path("measured.cfg").write_text(f"{config}\n{evaluation}")
    given = ("--paths.pairs", "pairs.txt", "--paths.encoder", "base")
    finished = command("pretrain", "measured.cfg", "--output", "measured", *given)
    assert finished.status == 0, finished.err
    assert Path("measured/model-best").is_dir()


@pytest.fixture
def linking_place(tmp_path, monkeypatch, command, shorten, tiny_encoder, biosyn_model):
    """A folder with the files that the pages on linking name; the linker learns for two steps."""
    monkeypatch.chdir(tmp_path)
    Path("medic.txt").write_text("D003920||Diabetes Mellitus|Diabetes\nD009203||Myocardial Infarction|Heart Attack\n")
    Path("medic.txt").rename("medic.txt.gz")
    Path("CORPUS").write_text(
        "1|t|A cardiac infarct in diabetes\n1|a|\n1\t2\t17\tcardiac infarct\tDisease\tD003920\n"
        "1\t21\t29\tdiabetes\tDisease\tD003920\n\n"
    )
    assert command("kb", "build", "medic.txt.gz", "--format", "medic", "-o", "medic.kb").status == 0
    assert command("assemble", "--kb", "medic.kb", "--encoder", tiny_encoder, "-o", "PIPELINE").status == 0
    for name in ("train", "dev"):
        Path(f"{name}.pubtator").write_bytes(Path("CORPUS").read_bytes())
    shorter = {"max_steps = 400": "max_steps = 1", "eval_frequency = 100": "eval_frequency = 1"}
    for kind in ("linker", "retriever"):
        shorten(kind, {**shorter, 'encoder = "starter-transformer"': f'encoder = "{tiny_encoder}"'})
    shutil.copytree(biosyn_model.folder, "biosyn-sapbert-ncbi-disease")
    return tmp_path


def test_the_commands_on_training_a_retriever_run(linking_place, run_page):
    Path("labels.txt").write_text("D003920\nD009203\n")
    run_page("documents", section="Training")
    saved = srsly.read_json("training/model-best/concept_retriever/component.json")["assets"]
    assert saved["document_encoder"] != saved["encoder"]


def test_the_commands_on_an_ner_run(whole_vocabulary, tmp_path, monkeypatch, shorten, run_page):
    monkeypatch.chdir(tmp_path)
    sample = ROOT / "assets" / "sample"
    shutil.copy(sample / "dictionaries" / "medic" / "medic_06Jul2012.txt", "names.txt")
    for name, file in {"train": "NCBItrainset_corpus.txt", "dev": "NCBIdevelopset_corpus.txt"}.items():
        shutil.copy(sample / "corpora" / "ncbi_disease" / file, f"{name}.pubtator")
    shorten("ner", {"max_steps = 2200": "max_steps = 4", "eval_frequency = 1100": "eval_frequency = 2"})
    run_page("ner", section="Use the NER in the package")
    run_page("ner", section="Train an NER")
    assert "names" in spacy.load("training/model-last")("Breast cancer.").spans


MEDMENTIONS = """\
1|t|A heart attack
1|a|Of DCTN9.
1\t2\t14\theart attack\tT047\tC9000001
1\t18\t23\tDCTN9\tT116,T123\tC9000003

2|t|Aspirin
2|a|No text.
2\t0\t7\tAspirin\tT121\tC9000002
"""
COMETA = "Heart attacks\tSNOMEDCT:900000008\nbad tummy\tSNOMEDCT:900000012\n"


@pytest.fixture
def corpora_place(tmp_path, monkeypatch, command):
    """A folder with the files that the page on corpora names, all content invented."""
    monkeypatch.chdir(tmp_path)
    Path("2024AA").mkdir()
    for name, text in RELEASE.items():
        (Path("2024AA") / name).write_text(text)
    assert command("kb", "build", "2024AA", "--format", "umls", "-o", "umls.kb").status == 0
    assert command("assemble", "--kb", "umls.kb", "-o", "umls_linker").status == 0
    Path("corpus_pubtator.txt.gz").write_bytes(gzip.compress(MEDMENTIONS.encode()))
    for split, pmid in {"trng": 1, "dev": 2}.items():
        Path(f"corpus_pubtator_pmids_{split}.txt").write_text(f"{pmid}\n")
    Path("snomed.tsv").write_text("900000008\tInfarct\n900000008\tHeart attack\n900000012\tTummy ache\n")
    for split in ("train", "test"):
        Path(f"{split}.tsv").write_text(COMETA)
    Path("AskAPatient.fold-0.test.txt").write_bytes(b"900000008\tInfarct\theart attack\n900000012\tAche\tt\xfcmmy\n")
    Path("AskAPatient").mkdir()
    for fold, (right, wrong) in enumerate([("infarcts", "aches"), ("infarcts of heart", "t\xfcmmy infarct")]):
        rows = f"900000008\tInfarct\t{right}\n900000012\tM\xe9ni\xe8re\t{wrong}\n"
        for part in ("train", "validation"):
            Path(f"AskAPatient/AskAPatient.fold-{fold}.{part}.txt").write_bytes(rows.encode("latin-1"))
    Path("biored.pubtator").write_text(
        "1|t|TP53 in mice\n1|a|\n1\t0\t4\tTP53\tGene\t7157\n1\t8\t12\tmice\tSpecies\t10090\n"
    )


def test_the_commands_for_corpora_run(corpora_place, run_page):
    finished = run_page("corpora", commands_only=True)
    found = {line.removeprefix("spacy-sapbert evaluate linking "): done.out for line, done in finished.items()}
    of_corpora = {
        "umls_linker corpus_pubtator.txt.gz": (1, 1, 100.0),
        "snomed_linker test.tsv": (2, 2, 100.0),
        "snomed_linker AskAPatient.fold-0.test.txt": (2, 2, 100.0),
    }
    for corpus, expected in of_corpora.items():
        (measures,) = (json.loads(out) for line, out in found.items() if line.startswith(corpus))
        assert (measures["mentions"], measures["covered"], measures["strict"]["acc@1"]) == expected
    assert [doc.user_data["doc_id"] for doc in read_docbin(Path("train.spacy"))] == ["1"]
    assert [ent.text for doc in read_docbin(Path("diseases.spacy")) for ent in doc.ents] == ["heart attack"]
    (biored,) = read_docbin(Path("biored.spacy"))
    assert [ent.kb_id_ for ent in biored.ents] == ["NCBIGene:7157", "NCBITaxon:10090"]
    assert "SNOMEDCT:900000008||heart attacks||heart attack" in Path("pairs.txt").read_text()
    (folds,) = (json.loads(done.out) for line, done in finished.items() if "corpus folds" in line)
    assert [run["measures"]["covered"] for run in folds["runs"]] == [2, 2]
    assert list(KnowledgeBase("askapatient.kb").names()) == ["Infarct", "Ménière"]


def test_the_commands_on_measuring_a_pipeline_run(linking_place, run_page):
    shutil.copytree("PIPELINE", "OTHER")
    Path("MED1250_labeled").write_text("1\nHeart attack (HA)\nText.\n\n  HA|Heart attack\n\n")
    document = Path("dev.pubtator").read_text()
    Path("dev.pubtator").write_text(document + document.replace("1|", "2|").replace("\n1\t", "\n2\t"))
    write_kb(Path("BELB"), "ctd_diseases", [(["MESH:D009203"], ["Myocardial Infarction", "heart attack"])])
    mention = (0, 12, "MESH:D009203")
    write_corpus(Path("BELB"), "ncbi_disease", "disease", [("1", [("Heart attack", [mention])])])
    # tests/cli/test_calibrate.py runs that section
    quick = {"spacy-sapbert calibrate": "true", "spacy-sapbert link calibrated": "true", "--folds 5": "--folds 2"}
    Path("composites.pubtator").write_text(
        "1|t|Heart and lung attack\n1|a|\n"
        "1\t0\t21\tHeart and lung attack\tDisease\tD009203|D003920\tHeart attack|lung attack\n\n"
    )
    quick["composites dev.pubtator"] = "composites composites.pubtator"
    finished = run_page("evaluating", quick, commands_only=True)
    of_belb = [
        json.loads(done.out) for line, done in finished.items() if line.startswith("spacy-sapbert evaluate corpus belb")
    ]
    assert [result["corpora"]["ncbi_disease"]["r@1"] for result in of_belb] == [100.0, 100.0]
    assert Path("ctd_diseases.kb").is_file()
    folds = srsly.read_json("folds.json")
    assert [(run["fold"], run["seed"]) for run in folds["runs"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert not list(Path().glob(".folds.json.*"))
    assert "cardiac infarct" in Path("errors.tsv").read_text()
    scores = srsly.read_json("scores.json")
    assert {"ents_f", "span_id_f", "link_acc"} <= set(scores)


def test_the_commands_on_training_a_linker_run(linking_place, run_page):
    run_page("training-a-linker", commands_only=True)
    assert len(list(Path("training/model-best/shared").glob("encoder-*"))) == 1
    log = list(srsly.read_jsonl("log.jsonl"))
    assert [line["epoch"] for line in log] == [0, 1]
    assert list(log[0]["candidates"]) == ["cardiac infarct", "sugar disease"]


def test_the_readme_shows_the_figures_that_were_measured():
    """`make figures` writes them, with the date and the commit."""
    figures = json.loads((ROOT / "docs" / "results" / "figures.json").read_text())
    text = (ROOT / "README.md").read_text(encoding="utf8")
    rows = {line.split(" | ")[0].strip("| "): line for line in text.splitlines() if line.startswith("| ")}
    shown = {"exact match (lenient)": "exact match", "character n-grams, untrained": "n-grams"}
    shown["default: starter table and n-grams, untrained"] = "default"
    for row, measured in shown.items():
        corpora = figures["acc@1, lenient and strict"][measured].values()
        values = [value for corpus in corpora for kb in ("MEDIC", "+ train") for value in corpus[kb]]
        # both are rounded
        assert list(map(float, re.findall(r"\d+\.\d", rows[row]))) == pytest.approx(values, abs=0.06)
    documents = figures["f1 of the concepts of documents"]
    assert f"F1 {documents['ncbi']:.1f} (NCBI) and {documents['bc5cdr']:.1f} (BC5CDR" in text
