"""The table for several languages: how it is made, found and used. Its accuracy is measured where it is installed."""

import csv
import importlib
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import spacy

from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.encoders.folder import MULTILINGUAL, MULTILINGUAL_PACKAGE
from spacy_sapbert.encoders.static import StaticEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.training.pair_files import read_pairs, read_shared_names, shared_names_path
from spacy_sapbert.types import Name, Record

MENTIONS = Path(__file__).with_name("multilingual_mentions.tsv")
ROWS = list(csv.DictReader(MENTIONS.read_text(encoding="utf-8").splitlines(), delimiter="\t"))
LEAST = {"es": 90, "fr": 80, "de": 65}  # percent, among the English names of these concepts


@pytest.fixture
def table(tmp_path):
    StaticEncoder(dim=8, words=64, ngrams=128, text_normalizer="unaccented+greek").save(tmp_path / "table")
    return tmp_path / "table"


@pytest.fixture
def not_imported():
    """Forgets the package with the table before and after a test."""
    sys.modules.pop(MULTILINGUAL_PACKAGE, None)
    yield
    sys.modules.pop(MULTILINGUAL_PACKAGE, None)


@pytest.mark.skipif(find_spec(MULTILINGUAL_PACKAGE) is not None, reason="it is installed")
def test_a_table_that_is_not_installed(tmp_path):
    with pytest.raises(SapbertError, match=r"E301.*not installed.*spacy project run multilingual"):
        open_encoder(MULTILINGUAL)


def test_a_wheel_makes_the_table_available(script, table, tmp_path, monkeypatch, not_imported):
    script("multilingual").wheel(table, tmp_path / "packages")
    [wheel] = (tmp_path / "packages").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "site")
    assert len(list((tmp_path / "site").glob("*.dist-info/*"))) == 3
    monkeypatch.syspath_prepend(tmp_path / "site")
    importlib.invalidate_caches()
    found = open_encoder(MULTILINGUAL)
    assert Path(found.name) == tmp_path / "site" / MULTILINGUAL_PACKAGE
    np.testing.assert_array_equal(found.encode(["asma"]), StaticEncoder(str(table)).encode(["asma"]))


def test_a_larger_table_keeps_the_vectors_of_names(script, tmp_path):
    script("multilingual").base(tmp_path / "base")
    names = ["heart attack", "Breast cancer", "TNF-alpha"]
    vectors = [StaticEncoder(name).encode(names) for name in ("starter", str(tmp_path / "base"))]
    assert (vectors[0] * vectors[1]).sum(1).min() > 0.9999
    accents = StaticEncoder(str(tmp_path / "base")).encode(["Ménière", "meniere"])
    np.testing.assert_array_equal(*accents)


def test_pairs_of_several_languages(script, tmp_path, monkeypatch):
    module = script("multilingual")
    monkeypatch.setattr(module, "is_held_out", lambda cells: cells["code"] == "B1")
    (tmp_path / "tables").mkdir()
    codes = "code\ten\tde\tes\nA1\tHeart failure\tHerzinsuffizienz\t\nB1\tGout\tGicht\tGota\n"
    (tmp_path / "tables" / "codes.tsv").write_text(codes, encoding="utf-8")
    (tmp_path / "words.tsv").write_text("en\tes\tfr\tde\tpt\tnl\nheart\tcorazón\tcœur\tHerz|Herzen\tcoração\thart\n")
    (tmp_path / "english.txt").write_text("D1||heart||cor\nD2||fever||pyrexia\n")
    module.pairs(tmp_path / "english.txt", tmp_path / "tables", words=tmp_path / "words.tsv", output=tmp_path / "p.txt")
    found = list(read_pairs(tmp_path / "p.txt"))
    assert found.count(("M:heart failure", "heart failure", "herzinsuffizienz")) == module.WEIGHTS["de"]
    assert found.count(("M:heart", "heart", "herzen")) == module.WORD
    assert found.count(("M:heart", "cœur", "herz")) == module.ACROSS
    assert found[-1] == ("D2", "fever", "pyrexia")
    assert not any("gout" in pair for pair in found)
    assert ("heart", ("D1", "M:heart")) in list(read_shared_names(shared_names_path(tmp_path / "p.txt")))


@pytest.mark.skipif(find_spec(MULTILINGUAL_PACKAGE) is None, reason="the table for several languages is not installed")
@pytest.mark.parametrize("language", LEAST)
def test_mentions_are_linked_to_an_english_vocabulary(language, tmp_path):
    records = (Record(row["id"], (Name(row["name"], "exact", ""),)) for row in ROWS)
    kb = build_knowledge_base(records, tmp_path / "names.kb")
    nlp = spacy.blank(language)
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Phenotype", "pattern": row[language]} for row in ROWS])
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb.path), "encoder": MULTILINGUAL, "threshold": 0.0})
    right = [row["id"] in [mention.kb_id_ for mention in nlp(row[language]).ents] for row in ROWS]
    assert 100 * np.mean(right) >= LEAST[language]
