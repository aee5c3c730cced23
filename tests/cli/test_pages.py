"""What the pages in docs/ on changing over, deploying and the like show works as it says.

Their files and models are made up here. A name of the model hub or of an installed model is the path of a folder, too.
"""

import csv
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import spacy
import srsly
import yaml

import spacy_sapbert
from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.review.corrections import Correction, document_key
from spacy_sapbert.review.corrections_file import CorrectionsFile

ROOT = Path(__file__).parents[2]
SAPBERT = "cambridgeltl/SapBERT-from-PubMedBERT-fulltext"
MEDIC = """\
D003920||Diabetes Mellitus|Diabetes|Sugar Disease
D009203||Myocardial Infarction|Heart Attack
D001943|114480||Breast Neoplasms|Breast Cancer
"""
DOCUMENT = """\
{0}|t|A heart attack in diabetes
{0}|a|
{0}\t2\t14\theart attack\tDisease\tD009203
{0}\t18\t26\tdiabetes\tDisease\tD003920

"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a vocabulary, a pipeline with an NER, and texts."""
    monkeypatch.chdir(tmp_path)
    Path("medic.txt.gz").write_text(MEDIC)  # gzip is seen from the content
    srsly.write_jsonl("abstracts.jsonl", [{"id": "1", "text": "A heart attack in diabetes mellitus."}])
    ner = spacy.blank("en")
    names = ("diabetes mellitus", "DM", "cancer of the breast")
    patterns = [{"label": "DISEASE", "pattern": [{"LOWER": word.lower()} for word in name.split()]} for name in names]
    ner.add_pipe("entity_ruler").add_patterns(patterns)
    ner.to_disk("en_ner_bc5cdr_md")
    return tmp_path


@pytest.fixture
def medic(place, command):
    assert command("kb", "build", "medic.txt.gz", "--format", "medic", "-o", "medic.kb").status == 0


@pytest.mark.usefixtures("medic")
def test_behind_your_ner(run_page):
    run_page("ner", section="Link behind your NER")
    assert "D003920" in Path("links.tsv").read_text()


@pytest.mark.usefixtures("medic")
def test_outputs(whole_vocabulary, run_page):
    pytest.importorskip("pandas")
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": "medic.kb"})
    nlp.add_pipe("sapbert_linker", config={"kb": "medic.kb", "encoder": "none"})
    nlp.to_disk("pipeline")
    run_page("outputs", {"PIPELINE": "pipeline"})
    assert "Myocardial Infarction" in Path("links.csv").read_text()


def test_notes(tmp_path, monkeypatch, run_page):
    monkeypatch.chdir(tmp_path)
    Path("notes").mkdir()
    page = (ROOT / "docs" / "notes.md").read_text(encoding="utf-8")
    Path("notes/1.txt").write_text(re.search("```text\n(.*?)```", page, re.DOTALL)[1])
    run_page("notes")
    assert spacy.load("FLAGS").pipe_names[-2:] == ["sentencizer", "assertion_detector"]
    with open("links.csv", encoding="utf-8") as file:
        rows = [f"| {row['text']} | {row['section']} | {row['assertion']} |" for row in csv.DictReader(file)]
    assert [" ".join(row.split()) for row in rows] == re.findall(
        r"^\| (?!text).*\|$", page.partition("## ")[0], re.MULTILINE
    )


def test_corrections(tmp_path, monkeypatch, run_page):
    monkeypatch.chdir(tmp_path)
    for section in ("Write corrections with Python", "Use corrections", "Report and export"):
        run_page("corrections", section=section)
    assert [one.text for doc in read_docbin(Path("reviewed.spacy")) for one in doc.ents] == ["heart attack"]
    assert Path("names.tsv").read_text().splitlines()[1].startswith("y\theart attack\tD003324")


def test_reviewing_notes(tmp_path, monkeypatch, run_page):
    monkeypatch.chdir(tmp_path)
    text = "A boy with acute heart failure and a weak heart."
    Path("notes").mkdir()
    Path("notes/1.txt").write_text(text)
    terms = {"DOID:4": "disease", "DOID:6000": "congestive heart failure", "DOID:114": "heart disease"}
    names = {"DOID:6000": 'synonym: "heart failure" EXACT []\n'}
    stanzas = [f"\n[Term]\nid: {one}\nname: {name}\n{names.get(one, '')}" for one, name in terms.items()]
    Path("doid.obo").write_text("format-version: 1.2\n" + "".join(stanzas))
    start = text.index("weak heart")
    place = (document_key(text), start, start + len("weak heart"), "weak heart")
    file = CorrectionsFile("corrections.db", create=True)
    file.add_documents([("1.txt", text)], "notes")
    file.add([Correction("add", "corpus", *place, ("DOID:114",), author="Ann")])
    run_page("corrections", section="Review notes in an hour")
    lines = Path("links.csv").read_text().splitlines()
    rows = {row["text"]: row["concept_id"] for row in csv.DictReader(lines)}
    assert rows == {"heart failure": "DOID:6000", "weak heart": "DOID:114"}
    ents = spacy.load("better_linker")("The weak heart of another boy.").ents
    assert [(ent.text, ent.kb_id_) for ent in ents] == [("weak heart", "DOID:114")]


ABSTRACT = """<PubmedArticle><MedlineCitation><PMID Version="1">{}</PMID><Article><Journal><JournalIssue><PubDate>
<Year>{}</Year></PubDate></JournalIssue></Journal><ArticleTitle>{}</ArticleTitle></Article></MedlineCitation>
</PubmedArticle>"""


@pytest.fixture
def pubmed(medic):
    """Two files of PubMed, and a pipeline without an encoder."""
    pytest.importorskip("duckdb")
    Path("pubmed").mkdir()
    texts = ["Sugar disease.", "Diabetes mellitus.", "Diabetes and a heart attack.", "No finding."]
    articles = [ABSTRACT.format(n, 2025 if n else 2024, text) for n, text in enumerate(texts)]
    for number, found in enumerate((articles[:2], articles[2:]), start=1):
        content = "".join(found)
        Path(f"pubmed/pubmed26n000{number}.xml").write_text(f"<PubmedArticleSet>{content}</PubmedArticleSet>")
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": "medic.kb"})
    nlp.add_pipe("sapbert_linker", config={"kb": "medic.kb", "encoder": "none"})
    nlp.to_disk("medic_linker")


@pytest.mark.usefixtures("pubmed", "no_processes")
def test_corpora_at_scale(run_page):
    run_page("corpora-at-scale", section="Link a corpus of many files")
    run_page("corpora-at-scale", section="Count concepts")


@pytest.mark.slow
@pytest.mark.usefixtures("pubmed")
def test_ray_and_spark(run_page):
    pytest.importorskip("ray")
    pytest.importorskip("pyspark")
    table, parquet = pytest.importorskip("pyarrow").table, pytest.importorskip("pyarrow.parquet")
    parquet.write_table(table({"id": ["1"], "text": ["A heart attack."]}), "documents.parquet")
    run_page("corpora-at-scale", section="Ray and Spark")
    for folder in ("links_ray", "links_spark", "links_of_ray_data", "links_of_spark"):
        found = parquet.read_table(folder).to_pylist()
        assert "D009203" in {row["concept_id"] for row in found}, folder


@pytest.mark.slow
@pytest.mark.usefixtures("pubmed")
def test_a_ray_cluster_of_two_nodes(monkeypatch):
    pytest.importorskip("ray")
    page = (ROOT / "docs" / "corpora-at-scale.md").read_text()
    commands, stop = re.search(r"```console\n(ray start.*)\n(ray stop)\n```", page, re.DOTALL).groups()
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)
    try:
        subprocess.run(["bash", "-ec", commands], check=True, timeout=300)
    finally:
        subprocess.run(stop.split(), check=True, timeout=60)
    found = pytest.importorskip("pyarrow.parquet").read_table("links").to_pylist()
    assert "D009203" in {row["concept_id"] for row in found}


@pytest.mark.usefixtures("place")
def test_troubleshooting(run_page):
    run_page("troubleshooting")


def test_umls(place, run_page, make_encoder):
    Path("2024AA").mkdir()
    names = [("C9000001", "ENG", "MSH", "Infarct"), ("C9000001", "ENG", "SNOMEDCT_US", "Heart Attack")]
    names += [("C9000001", "SPA", "MSHSPA", "Infarto"), ("C9000002", "ENG", "MSH", "Aspirin")]
    rows = [f"{cui}|{lat}|P|L|PF|S|Y|A{i}||||{sab}|MH|X|{name}|0|N||" for i, (cui, lat, sab, name) in enumerate(names)]
    Path("2024AA/MRCONSO.RRF").write_text("".join(f"{row}\n" for row in rows))
    types = {cui: ("T121", "A", "Drug") if cui == "C9000002" else ("T047", "B", "Disease") for cui, *_ in names}
    Path("2024AA/MRSTY.RRF").write_text("".join(f"{cui}|{'|'.join(of)}|AT||\n" for cui, of in types.items()))
    shutil.copytree(make_encoder(), SAPBERT)
    srsly.write_jsonl("notes.jsonl", [{"id": "1", "text": "A heart attack."}])
    run_page("umls")
    counts = {path.stem: KnowledgeBase(path).n_names for path in Path().glob("*.kb")}
    assert counts == {"umls": 3, "clinical": 3, "diseases": 2, "bilingual": 4}
    nlp = spacy.load("umls_linker")
    assert [ent.kb_id_ for ent in nlp("A heart attack.").ents] == ["C9000001"]
    assert nlp.get_pipe("sapbert_linker").linker.generator.vectors.encoder.pooling == "cls"
    assert [path.name.partition("-")[0] for path in Path("large_linker/shared").iterdir()] == ["encoder"]
    (linked,) = srsly.read_jsonl("links.jsonl")
    assert [mention["kb_id"] for mention in linked["entities"]] == ["C9000001"]


def test_curating(tmp_path, monkeypatch, run_page, command):
    monkeypatch.chdir(tmp_path)
    section = "Make a vocabulary fit for text"
    page = (ROOT / "docs" / "vocabularies.md").read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    ontology, stop, keep = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    for file, text in (("hp.obo", ontology), ("stop.txt", stop), ("keep.txt", keep)):
        Path(file).write_text(text)
    Path("notes").mkdir()
    Path("notes/1.txt").write_text("Severe tumors.")
    run_page("vocabularies", section=section)
    assert "curation below " in command("kb", "info", "hpo.kb").err
    names = {file: KnowledgeBase(f"{file}.kb") for file in ("hpo", "mine")}
    stopped = {file: {kb.name(int(row)) for row in kb.stop_name_rows()} for file, kb in names.items()}
    assert set(names["hpo"].concept_ids()) == {"HP:0000118", "HP:0002098", "HP:0001840"}
    assert stopped["mine"] == {"All", "Clinical modifier", "Difficulty breathing"}


def test_codes(tmp_path, monkeypatch, run_page):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "health-records.md").read_text()
    Path("diseases.obo").write_text(re.search(r"```text\n(\[Term\].*?)```", page, flags=re.DOTALL)[1])
    Path("snomed.sssom.tsv").write_text(
        "subject_id\tpredicate_id\tobject_id\n"
        "SNOMEDCT:254837009\tskos:exactMatch\tUMLS:C0006142\nDOID:2394\tskos:broadMatch\tSNOMEDCT:1\n"
    )
    Path("2024AA").mkdir()
    row = "C9000001|ENG|P|L|PF|S|Y|A1||||ICD10CM|PT|C50|Breast cancer|0|N||\n"
    Path("2024AA/MRCONSO.RRF").write_text(row)
    srsly.write_jsonl("abstracts.jsonl", [{"id": "1", "text": "Breast cancer and ovarian cancer."}])
    run_page("health-records", section="Codes of other vocabularies")
    assert Path("links.csv").read_text().splitlines()[1].endswith(",ICD10CM:C50,C0006142,")
    (linked,) = srsly.read_jsonl("links.jsonl")
    codes = [link["codes"] for entity in linked["entities"] for link in entity["links"]]
    assert [(code["code"], code["predicate"], code["origin"]) for of_link in codes for code in of_link] == [
        ("SNOMEDCT:254837009", None, "snomed.sssom.tsv, via C0006142")
    ]
    assert ",SNOMEDCT:1,skos:broadMatch," in Path("codes.csv").read_text()
    assert len(Path("codes.tsv").read_text().splitlines()) == 4
    assert KnowledgeBase("umls.kb").xrefs("C9000001") == ("ICD10CM:C50",)


@pytest.mark.usefixtures("place")
def test_languages(run_page):
    run_page("languages")
    assert KnowledgeBase("spanish.kb").n_names == 3


@pytest.mark.usefixtures("medic")
def test_indexes(run_page):
    pytest.importorskip("qdrant_client")
    server, folder = "http://localhost:6333", "database"
    run_page("encoders", section="Choose an index")
    run_page("corpora-at-scale", {f"{server}#": f"qdrant:{folder}#"}, section="Qdrant")
    for pipeline in ("hnsw_linker", "pipeline"):
        assert [ent.kb_id_ for ent in spacy.load(pipeline)("A heart attack.").ents] == ["D009203"]


def test_packaging(place, command, run_page):
    Path("medic.txt.gz").write_text(MEDIC + "D000755||Anemia, Sickle Cell\n")
    assert command("kb", "build", "medic.txt.gz", "--format", "medic", "-o", "newer.kb").status == 0
    Path("medic.txt.gz").write_text(MEDIC)
    assert command("kb", "build", "medic.txt.gz", "--format", "medic", "-o", "medic.kb").status == 0
    Path("packages").mkdir()
    # tests/test_packaging.py builds and installs a wheel, test_link.py starts processes
    run_page("packaging", {"--build wheel": "--build none", "--n-process 2": "--n-process 1"})
    assert srsly.read_json("packages/en_diseases-1.0.0/meta.json")["version"] == "1.0.0"
    assert [ent.kb_id_ for ent in spacy.load("newer_linker")("Sickle cell anemia.").ents] == ["D000755"]
    (linked,) = srsly.read_jsonl("links.jsonl")
    assert linked["id"] == "1"


class SmallGenerator:
    """Stands for the candidates of scispaCy's linker, whose vocabularies must be downloaded."""

    def __init__(self, name=None):
        from spacy_sapbert.kb.storage import load_knowledge_base

        assert name == "mesh"
        self.kb = load_knowledge_base("starter")

    def __call__(self, texts, k):
        from scispacy.candidate_generation import MentionCandidate

        found = [sorted(self.kb.find_name(text.title())) for text in texts]
        return [
            [MentionCandidate(concept_id, [text], [0.99]) for concept_id in ids]
            for text, ids in zip(texts, found, strict=True)
        ]


def test_coming_from_scispacy(place, run_page, monkeypatch, capsysbinary):
    """What stands under "before" runs with scispaCy's own components, and reads as what stands under "after"."""
    pytest.importorskip("scispacy", reason="Python 3.13 has no scispaCy")
    monkeypatch.setattr("scispacy.linking.CandidateGenerator", SmallGenerator)
    concept = {"concept_id": "C9000001", "canonical_name": "Infarct", "aliases": [], "types": ["T047"]}
    srsly.write_jsonl("umls_mesh_2022.jsonl", [{**concept, "definition": None}])
    run_page("coming-from-scispacy")
    assert spacy.load("linker").get_pipe("sapbert_linker").kb.cui_to_entity["C9000001"].types == ("T047",)
    page = (ROOT / "docs" / "coming-from-scispacy.md").read_text(encoding="utf8")
    before, after, read, _ = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    capsysbinary.readouterr()
    printed = []
    for code in (before, after):
        exec(code + read, {})
        printed.append(sorted(capsysbinary.readouterr().out.splitlines()))  # scispaCy's abbreviations are in any order
    assert printed[0] == printed[1]


@pytest.fixture
def biosyn_place(place, shorten, tiny_encoder, biosyn_model):
    """Files as BioSyn's scripts write them, and configs by which encoder and linker learn for a step."""
    for number, name in enumerate(("train", "dev")):
        Path(f"{name}.pubtator").write_text(DOCUMENT.format(number))
    Path("dev_dictionary.txt").write_text("D003920||diabetes\nD009203||heart attack\nD001943|114480||breast cancer\n")
    Path("processed_dev").mkdir()
    Path("processed_dev/1.concept").write_text("1||2|14||Disease||heart attack||D009203\n")
    composite = "2||0|26||CompositeMention||heart attack|breast cancer||D009203|114480\n"
    Path("processed_dev/2.concept").write_text(composite)
    shutil.copytree(biosyn_model.folder, "biosyn-sapbert-ncbi-disease")
    shutil.copytree(tiny_encoder, "base")
    shorter = {"max_steps = 400": "max_steps = 1", "eval_frequency = 100": "eval_frequency = 1"}
    shorten("linker", {**shorter, 'encoder = "starter-transformer"': 'encoder = "base"'})


@pytest.mark.usefixtures("biosyn_place")
def test_coming_from_biosyn(run_page, command):
    run_page("coming-from-biosyn")
    assert Path("dev.tsv").read_text() == "heart attack\tD009203\nheart attack and breast cancer\tD009203|OMIM:114480\n"
    assert KnowledgeBase("from_biosyn.kb").find_id("OMIM:114480") == KnowledgeBase("dev.kb").find_id("OMIM:114480")
    assert command("convert", "dev.tsv", "-o", "mentions.spacy").status == 0
    assert len(list(read_docbin(Path("mentions.spacy")))) == 2
    learnt = spacy.load("training/model-best").config["components"]["sapbert_linker"]["training"]
    assert (learnt["inject_gold"], learnt["prior_weight"], learnt["sparse_weight"]) == (False, 0, 0)
    assert Path("run/model-last").is_dir()


def test_the_settings_that_a_page_names_are_those_of_the_configs():
    page = (ROOT / "docs" / "coming-from-biosyn.md").read_text(encoding="utf8")
    linker = spacy.util.load_config(ROOT / "configs" / "linker.cfg")
    learning, training = linker["components"]["sapbert_linker"]["training"], linker["training"]
    assert (learning["k"], learning["dense_share"], learning["sparse_weight"]) == (20, 0.5, None)
    assert (training["optimizer"]["L2"], training["batcher"]["size"], training["max_steps"]) == (0.01, 8, 400)
    pretrain = spacy.util.load_config(ROOT / "configs" / "pretrain.cfg")["pretrain"]
    assert (pretrain["optimizer"]["learn_rate"], pretrain["optimizer"]["weight_decay"]) == (2e-5, 0.01)
    values = {"max_epochs": pretrain["max_epochs"], "batcher.size": pretrain["batcher"]["size"]}
    values["checkpoint_every"] = pretrain["checkpoint_every"]
    assert [name for name, value in values.items() if f"`pretrain.{name} = {value}`" not in page] == []
    assert f"`margin = {pretrain['miner']['margin']}`" in page


def pages_of(section):
    """YIELDS (str): the pages of a section of the navigation, and of the sections in it."""
    for entry in section:
        if isinstance(entry, str):
            yield entry
        else:
            for pages in entry.values():
                yield from pages_of(pages)


def test_every_page_is_on_the_site_and_every_section_in_the_readme():
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf8")
    navigation = yaml.safe_load(config.split("\nnav:\n")[1].split("\n\n")[0])
    sections = {name: pages for section in navigation for name, pages in section.items()}
    sections = {name: list(pages_of(pages)) for name, pages in sections.items()}
    on_site = [page for pages in sections.values() for page in pages]
    assert len(set(on_site)) == len(on_site)
    assert {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} <= set(on_site)
    listed = (ROOT / "README.md").read_text(encoding="utf8").split("## Documentation\n")[1]
    links = {Path(link).with_suffix("").as_posix().lower() for link in re.findall(r"\]\((?:docs/)?(.*?)\)", listed)}
    for name, pages in sections.items():
        assert not links.isdisjoint(page.removesuffix(".md") for page in pages), name


def test_every_link_leads_somewhere():
    pages = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "results").glob("*.md"))]
    for page in [*sorted(ROOT.glob("*.md")), *pages]:
        text = page.read_text(encoding="utf8")
        for path, anchor in re.findall(r"\]\((?!http)([^)#\s]*)(?:#([^)\s]+))?\)", text):
            target = file_of(page, path)
            assert target.exists(), f"{page.name}: {path}"
            if anchor:
                assert anchor in headings(target), f"{page.name}: {path}#{anchor}"


def file_of(page, path):
    """The file that a page names. The package may be tested where it is installed."""
    _, package, inside = path.partition("spacy_sapbert/")
    return Path(spacy_sapbert.__file__).parent / inside if package else page.parent / path if path else page


def headings(page):
    """The anchors of a page, as GitHub makes them of its headings."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_long_runs(place, linking_folder, run_page):
    shutil.copytree(linking_folder, "my_pipeline")
    srsly.write_jsonl("notes.jsonl", [{"text": "aspirin"}, {"text": "CF"}])
    run_page("corpora-at-scale", section="Run for hours")
    assert len(Path("links.tsv").read_text().splitlines()) == 3
    assert not Path(".links.tsv.part").exists()
