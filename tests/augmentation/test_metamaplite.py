import os
import sys

import pytest

from spacy_sapbert.augmentation.annotations import Annotation
from spacy_sapbert.augmentation.metamaplite import MetaMapLite, MetaMapLiteOutput, file_stem, write_texts
from spacy_sapbert.documents.report import Report
from spacy_sapbert.errors import SapbertError

# Finds gout where a text begins with it, in each file of the list that it is given.
JAVA = f"""#!{sys.executable}
import sys
from pathlib import Path

here = Path("calls")
here.write_text((here.read_text() if here.exists() else "") + repr(sys.argv[1:]) + "\\n")
(given,) = [word.partition("=")[2] for word in sys.argv if word.startswith("--filelistfn=")]
for name in Path(given).read_text().splitlines():
    text = Path(name).read_text(encoding="utf8")
    if text.startswith("fail"):
        print("out of memory", file=sys.stderr)
        sys.exit(3)
    line = f'{{name}}|MMI|1.00|Gout|C0018099|[dsyn]|"Gout"-text-0-"gout"-NN-0|text|0/4||\\n'
    if not text.startswith("nothing written"):
        Path(name).with_suffix(".mmi").write_text(line if text.startswith("gout") else "")
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The folder of MetaMapLite, with a space in its name, and a java that plays its part."""
    folder = tmp_path / "public mm_lite"
    for name in ("target", "data/models", "data/ivf/2020AA/USAbase/indices", "data/ivf/2022AB/USAbase/indices"):
        (folder / name).mkdir(parents=True)
    (folder / "target" / "metamaplite-3.6.2rc8-standalone.jar").touch()
    (folder / "data" / "specialterms.txt").touch()
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text(JAVA)
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    return folder


def test_texts_are_annotated_once(installed, tmp_path):
    annotator = MetaMapLite(installed, tmp_path / "work", Report())
    texts = ["gout; a \u00e9", "none", "gout; a \u00e9", "nothing written"]
    gout = [Annotation(0, 4, ("C0018099",), "Gout")]
    assert annotator.annotate(texts) == [gout, [], gout, None]
    assert annotator.annotate(texts[:3]) == [gout, [], gout]
    (call,) = (installed / "calls").read_text().splitlines()
    jar, data = installed / "target" / "metamaplite-3.6.2rc8-standalone.jar", installed / "data"
    for word in (jar, "gov.nih.nlm.nls.ner.MetaMapLite", f"--indexdir={data / 'ivf' / '2022AB' / 'USAbase'}"):
        assert repr(str(word)) in call
    assert "'-Dfile.encoding=UTF-8', '-cp'" in call
    assert sorted(path.suffix for path in (tmp_path / "work").iterdir()) == [".mmi", ".mmi"]


def test_a_failure_is_reported_and_leaves_nothing(installed, tmp_path):
    with pytest.raises(SapbertError, match=r"\[E608\].*ended with 3: out of memory"):
        MetaMapLite(installed, tmp_path / "work", Report()).annotate(["gout", "fail"])
    assert not (tmp_path / "work").exists()


def test_what_is_missing_is_reported(installed, tmp_path, monkeypatch):
    with pytest.raises(SapbertError, match=r"\[E121\].*standalone\.jar, no data/ivf.*, no data/models"):
        MetaMapLite(tmp_path / "bin", tmp_path, Report())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SapbertError, match=r"\[E608\].*no program java"):
        MetaMapLite(installed, tmp_path, Report())


def test_output_from_elsewhere_is_read(tmp_path):
    texts = ["Gout\r\nand so on", "Gout", "no file"]
    assert write_texts([*texts, "Gout"], tmp_path) == 3
    assert (tmp_path / f"{file_stem(texts[0])}.txt").read_bytes() == texts[0].encode()
    brat = "T1\tMMLite 0 4\tGout\nN1\tReference T1 ConceptId:C0018099\tGout\n"
    (tmp_path / f"{file_stem(texts[0])}.ann").write_text(brat)
    (tmp_path / f"{file_stem(texts[1])}.json").write_text("[")
    report = Report()
    found = MetaMapLiteOutput(tmp_path, report).annotate(texts)
    assert found == [[Annotation(0, 4, ("C0018099",))], [], None]
    assert report.broken == 1
