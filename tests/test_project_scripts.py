"""The scripts of the project file, in a small project of their own."""

import gzip
import hashlib
import shutil
from pathlib import Path

import pytest
import spacy
import srsly
import typer
from spacy.tokens import Doc
from spacy.vocab import Vocab
from typer.testing import CliRunner
from weasel.cli.assets import project_assets

from spacy_sapbert.documents.docbin import read_docbin, write_docbin
from spacy_sapbert.documents.docs import DOC_ID, unsure_spans

ROOT = Path(__file__).parents[1]
TEXT = b"D003550||Cystic Fibrosis|CF\n"


def md5(content):
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@pytest.fixture
def project(tmp_path):
    """A project with assets: two with checksums, one without, and one that is private."""
    url = "https://example.org/x"
    assets = [
        {"dest": "assets/a/names.txt", "url": url, "checksum": md5(TEXT)},
        {"dest": "assets/b/other.txt", "url": url, "checksum": md5(b"other")},
        {"dest": "assets/b/packed.json.gz", "url": url},
        {"dest": "assets/private", "description": "yours"},
    ]
    folder = tmp_path / "project"
    folder.mkdir()
    srsly.write_yaml(folder / "project.yml", {"title": "small", "vars": {}, "assets": assets, "commands": []})
    return folder


@pytest.fixture
def run(script, monkeypatch):
    """A function that calls a command of a script in a folder, and returns what it reports."""

    def call(name, *arguments, cwd, code=0):
        monkeypatch.chdir(cwd)
        done = CliRunner().invoke(script(name).app, list(map(str, arguments)))
        assert done.exit_code == code, done.output
        return done.output

    return call


@pytest.fixture
def mirror(run, project, tmp_path):
    """A function that takes the assets of the project from a folder with files. It returns what is reported."""

    def take(files):
        for name, content in files.items():
            (tmp_path / "mirror" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "mirror" / name).write_bytes(content)
        return run("assets", "mirror", tmp_path / "mirror", cwd=project)

    return take


def test_a_mirror_gives_what_has_the_right_content(mirror, project):
    other = b"of the right name, but something else"
    files = {"deep/by_another_name.txt.gz": gzip.compress(TEXT), "other.txt": other, "packed.json": b"{}"}
    assert "assets/b/other.txt: not in the folder" in mirror(files)
    assert (project / "assets/a/names.txt").read_bytes() == TEXT
    assert gzip.decompress((project / "assets/b/packed.json.gz").read_bytes()) == b"{}"
    assert not (project / "assets/b/other.txt").exists()


def test_a_mirror_with_two_of_a_name_gives_neither(mirror, project):
    mirror({f"{folder}/packed.json.gz": gzip.compress(folder.encode()) for folder in ("one", "two")})
    assert not (project / "assets/b/packed.json.gz").exists()


def test_what_is_there_is_not_taken_again(mirror, project):
    (project / "assets/a").mkdir(parents=True)
    (project / "assets/a/names.txt").write_bytes(b"mine")
    mirror({"names.txt": TEXT})
    assert (project / "assets/a/names.txt").read_bytes() == b"mine"


@pytest.fixture
def local_project(tmp_path):
    """The project of the package, whose assets come from the sample instead of the net."""
    config = srsly.read_yaml(ROOT / "project.yml")
    for asset in config["assets"]:
        path = ROOT / "assets" / "sample" / Path(asset["dest"]).relative_to("assets")
        if asset.pop("url", None):
            asset.update(url=str(path), checksum=md5(path.read_bytes()))
    srsly.write_yaml(tmp_path / "project.yml", config)
    return tmp_path, config["assets"]


def test_assets_are_fetched(run, local_project):
    folder, assets = local_project
    project_assets(folder)
    fetched = [folder / asset["dest"] for asset in assets if "url" in asset]
    assert len(fetched) > 15
    assert all(path.is_file() for path in fetched)
    assert "assets/umls is not there; what is open serves" in run("assets", "verify", "assets", cwd=folder)


def test_what_was_fetched_wrongly_is_found(run, local_project):
    folder, assets = local_project
    changed = next(asset for asset in assets if "url" in asset)
    config = srsly.read_yaml(folder / "project.yml")
    config["assets"] = [{**asset, "checksum": md5(b"else")} if asset == changed else asset for asset in assets]
    srsly.write_yaml(folder / "project.yml", config)
    project_assets(folder)
    assert f"{changed['dest']} is" in run("assets", "verify", "assets", cwd=folder, code=1)


def test_missing_and_wrong_assets_are_reported_with_the_remedy(run, project):
    (project / "assets/a").mkdir(parents=True)
    (project / "assets/a/names.txt").write_bytes(b"cut o")
    shown = run("assets", "verify", "assets", cwd=project, code=1)
    assert "assets/a/names.txt is another file" in shown
    assert "assets/b/other.txt is not there; get it with: spacy project assets" in shown
    assert "assets/private is not there; what is open serves" in shown


def test_only_assets_of_some_folders_can_be_verified(run, project):
    (project / "assets/a").mkdir(parents=True)
    (project / "assets/a/names.txt").write_bytes(TEXT)
    assert run("assets", "verify", "assets", "a", cwd=project) == ""
    assert "assets/b" in run("assets", "verify", "assets", "a", "b", cwd=project, code=1)


def test_files_elsewhere_need_no_checksum(run, project):
    (project / "mine/a").mkdir(parents=True)
    (project / "mine/a/names.txt").write_bytes(b"mine")
    assert run("assets", "verify", "mine", "a", cwd=project) == ""
    assert "mine/b/other.txt is not there" in run("assets", "verify", "mine", "b", cwd=project, code=1)


def test_outputs_that_were_not_made_are_reported(run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("something")
    (tmp_path / "hollow").mkdir()
    (tmp_path / "void.json").touch()
    assert run("assets", "outputs", "full", "full/file", cwd=tmp_path) == ""
    shown = run("assets", "outputs", "full", "hollow", "void.json", "absent", cwd=tmp_path, code=1)
    assert [line.split()[0] for line in shown.splitlines()] == ["hollow", "void.json", "absent"]


def test_chemicals_are_those_of_the_tree_and_of_the_mappings(run, tmp_path):
    (tmp_path / "descriptors.tsv").write_text(
        "D008094\tLithium\tLithium Ion|Li\nD003550\tCystic Fibrosis\tMucoviscidosis\nD009020\tMorphine\t\n"
    )
    (tmp_path / "tree.tsv").write_text(
        "Tree Number\tDesc Ui\tTerm\nD01.552\tD008094\tLithium\nC06.1\tD003550\tCF\nD03\tD009020\tMorphine\n"
    )
    (tmp_path / "mappings.tsv").write_text(
        "MESH\tC000002\tbevonium\tCHEBI\tCHEBI:135495\tbevonium\nMESH\tC1\tx\tDOID\tDOID:1\tx\n"
    )
    shown = run(
        "vocabularies", "chemicals", "descriptors.tsv", "tree.tsv", "mappings.tsv", "-o", "out.txt", cwd=tmp_path
    )
    lines = (tmp_path / "out.txt").read_text().splitlines()
    assert lines == ["C000002||bevonium", "D008094||Lithium|Lithium Ion|Li", "D009020||Morphine"]
    assert "3 concepts, 5 names" in shown


def preferred_names(run, tmp_path, rows):
    (tmp_path / "names.tsv").write_text("".join(f"{name}\t{one_id}\tother\n" for name, one_id in rows))
    run("vocabularies", "group", "names.tsv", "-o", "out.tsv", cwd=tmp_path)
    header, *lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert header == "id\tname\tsynonyms"
    return {one_id: (name, synonyms.split("|")) for one_id, name, synonyms in (line.split("\t") for line in lines)}


def test_names_are_grouped_and_the_preferred_one_is_chosen(run, tmp_path):
    names = {
        "Rattus norvegicus": ["Brown rats", "R. norvegicus", "R.norvegicus", "Rattus norvegicus8"],
        "Danio rerio": ["D. rerio", "D. rerio frankei", "Danio rerio frankei", "Zebrafish"],
        "Escherichia coli": ["B. coli", "Bacillus coli", "E. coli", "Eschericia coli", "Escherichia coli K"],
        "Caenorhabditis elegans": ["C. elegans", "R. elegans", "Rhabditis elegans"],
        "Caenorhabditis briggsae": ["C. briggsae"],
        "U2OS": ["2T", "U-2 OS", "U2-OS"],
        "HeLa": [],
        "#1": ["a b c"],
    }
    rows = [
        (name, number) for number, of_one in enumerate(names.items()) for name in (*of_one[1], of_one[0], of_one[0])
    ]
    rows = [(name.replace("a b", "a|b"), number) for name, number in rows]  # what joins the synonyms
    found = preferred_names(run, tmp_path, rows)
    assert dict(found.values()) == {one: names[one] or [""] for one in names}


@pytest.mark.parametrize(
    ("command", "text", "reported"),
    [
        (["chemicals", *["a.tsv"] * 3], "Tree Number\tDesc Ui\tTerm\nD01.552\tD0080", "2 columns of at least 3"),
        (["group", "a.tsv"], "mice\t1\nrats", "1 columns of at least 2"),
    ],
)
def test_a_table_that_was_cut_off_is_reported_with_its_line(run, tmp_path, command, text, reported):
    (tmp_path / "a.tsv").write_text(text)
    assert f"a.tsv, line 2: {reported}" in run("vocabularies", *command, "-o", "out.tsv", cwd=tmp_path, code=1)
    assert not (tmp_path / "out.tsv").exists()


@pytest.mark.slow
def test_corpora_are_split_by_ids(run, tmp_path):
    docs = []
    for doc_id in ("1", "2", "3", "4"):
        docs.append(Doc(Vocab(), words=["flu"]))
        docs[-1].user_data[DOC_ID] = doc_id
    write_docbin(docs, tmp_path / "all/a.spacy")
    (tmp_path / "dev.txt").write_text("7\n2\n")
    (tmp_path / "train.txt").write_text("1\n2\n3\n9\n")
    options = ("--train-ids", "train.txt", "--dev-ids", "dev.txt", "--train", "train", "--dev", "dev")
    run("corpora", "split", "all", *options, cwd=tmp_path)
    ids = {
        part: [doc.user_data[DOC_ID] for doc in read_docbin(tmp_path / part / "a.spacy")] for part in ("train", "dev")
    }
    assert ids == {"train": ["1", "3"], "dev": ["2"]}
    (tmp_path / "dev.txt").write_text("8\n")
    shown = run("corpora", "split", "all", *options, cwd=tmp_path, code=1)
    assert "a.spacy has no document for dev" in shown
    (tmp_path / "empty").mkdir()
    assert "no .spacy file" in run("corpora", "split", "empty", *options, cwd=tmp_path, code=1)


def test_mentions_are_left_open(run, tmp_path):
    doc = spacy.blank("en")("Leptin and iron")
    doc.ents = [doc.char_span(0, 6, "Gene"), doc.char_span(11, 15, "Chemical")]
    write_docbin([doc], tmp_path / "small.spacy")
    run("corpora", "leave-open", "small.spacy", "Gene", cwd=tmp_path)
    (left,) = read_docbin(tmp_path / "small.spacy")
    assert [entity.text for entity in left.ents] == ["iron"]
    assert [(span.text, span.label_) for span in unsure_spans(left)] == [("Leptin", "Gene")]


def test_corpora_without_ids_give_no_labels(run, tmp_path):
    (tmp_path / "a.txt").write_text("1|t|CF\n1|a|\n1\t0\t2\tCF\tDisease\t-1\n")
    assert "a.txt has an id" in run("corpora", "labels", "a.txt", "-o", "labels.txt", cwd=tmp_path, code=1)
    assert not (tmp_path / "labels.txt").exists()


def test_labels_are_the_ids_of_all_corpora(run, tmp_path):
    (tmp_path / "a.txt").write_text("1|t|CF and ALS\n1|a|\n1\t0\t2\tCF\tDisease\tD003550\n1\t7\t10\tALS\tDisease\t-1\n")
    (tmp_path / "b.txt").write_text("2|t|Aspirin\n2|a|\n2\t0\t7\tAspirin\tChemical\tMESH:D001241|D003550\n")
    assert "2 ids" in run("corpora", "labels", "a.txt", "b.txt", "-o", "labels.txt", cwd=tmp_path)
    assert (tmp_path / "labels.txt").read_text().split() == ["D001241", "D003550"]


def test_cleaning_leaves_assets(run, tmp_path):
    for folder in ("assets", "corpus", "training", "metrics", "packages"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").touch()
    (tmp_path / "project.lock").touch()
    shutil.copy(ROOT / "project.yml", tmp_path)
    run("assets", "clean", cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["assets", "project.yml"]


@pytest.mark.slow
def test_a_smaller_encoder_has_new_words(script, make_encoder, small_kb, tmp_path):
    """Each starts as the mean of its pieces. Names with as many positions as stay keep their vectors."""
    from spacy_sapbert.encoders.transformer import TransformerEncoder

    module, base = script("small_encoder"), make_encoder(pooling="mean")
    original = TransformerEncoder(str(base), device="cpu")
    words = module.worth_adding(original, ["neoplasms", "colds", "colds", "zoster", "breast", "ζ"], 2)
    assert list(words) == ["zoster", "colds"]
    module.main(str(base), small_kb.path, tmp_path / "small", layers="0,1", add_pieces=1, positions=30)
    small = TransformerEncoder(str(tmp_path / "small"), device="cpu")
    [step] = small.trained["history"]
    assert (step["added"], step["layers"], step["positions"], small.positions) == (1, [0, 1], 30, 30)
    word = next(iter(module.worth_adding(original, small_kb.names(), 1)))
    assert small.tokenizer.tokenize(word) == [word]
    row, rows = small.tokenizer.get_vocab()[word], original.tokenizer(word, add_special_tokens=False)["input_ids"]
    new, old = (each.model.get_input_embeddings().weight.detach() for each in (small, original))
    assert abs(new[row] - old[rows].mean(0)).max() < 1e-6
    with pytest.raises(typer.BadParameter):
        module.main(str(base), small_kb.path, tmp_path / "none", layers="0", positions=65)


def test_word_vectors_know_pieces_of_words(run, tmp_path, small_kb):
    pytest.importorskip("floret")
    # floret needs some thousands of words to learn anything
    train = "Nephropathy and cardiopathy of mice and men are told in twelve words here. "
    for part, text in {"train": train * 1000, "dev": "Left out are these words."}.items():
        doc = Doc(Vocab(), words=text.split())
        doc.user_data[DOC_ID] = part
        write_docbin([doc], tmp_path / part / "corpus.spacy")
    (tmp_path / "texts").mkdir()
    texts = [{"id": "dev", "text": "Left out are these words."}, {"text": "Other texts."}]
    srsly.write_jsonl(tmp_path / "texts/a.jsonl", texts)
    options = ("--exclude", "dev", "--documents", "texts", "--kb", str(small_kb.path), "--output", "vectors")
    shown = run("word_vectors", "train", *options, "--dimensions", "8", "--rows", "100", cwd=tmp_path)
    assert "1 training documents and 1 other texts" in shown
    nlp = spacy.load(tmp_path / "vectors")
    assert (nlp.vocab.vectors.mode, nlp.vocab.vectors.data.dtype) == ("floret", "int8")
    seen, unseen, upper = (nlp(word)[0].vector for word in ("nephropathy", "neuropathy", "NEPHROPATHY"))
    assert seen.shape == (8,)
    assert unseen.any()
    assert (seen == upper).all()
