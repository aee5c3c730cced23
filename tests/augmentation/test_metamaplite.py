import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.augmentation.annotations import Annotation
from spacy_sapbert.augmentation.metamaplite import (
    MetaMapLite,
    MetaMapLiteOutput,
    RankedAnnotation,
    file_stem,
    read_brat,
    read_json,
    read_mmi,
    read_output,
    write_texts,
)
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.source import Source

TEXT = 'Gout, or "gouty" arthritis | gout.'
MMI = """\
a/1.txt|MMI|5.99|Gout|C0018099|[dsyn]|"Gout"-text-0-"Gout"-NN-0,"GOUT"-text-0-"gout"-NN-1|text|0/4;29/4|C05.550.354;C16|
a/1.txt|MMI|3,68|Gouty arthritis | acute|C0003868|[dsyn, fndg]|"x | y"-text-0-"gouty" arthritis"-NN-0|text|9/17||
a/1.txt|MMI|0.46|Arthritis|C0003864|[dsyn]|"Arthritis"-text-0-"arthritis"-NN-0|17/9|C05
a/1.txt|MMI|0.46|Mild gout|C9000001|[fndg]|"Gout"-text-0-"Gout"-NN-0|text|0/4||
a/1.txt|MMI|0.40|In pieces|C9000002|[fndg]|"Gout arthritis"-text-0-"Gout arthritis"-NN-0|text|0/4,17/9||
"""
GOUT = {"cui": "C0018099", "preferredname": "gout"}
JSON = [
    {
        "matchedtext": "Gout",
        "start": 0,
        "length": 4,
        "evlist": [
            {"score": 0, "start": 0, "length": 4, "conceptinfo": {"cui": "C9000001", "preferredname": "Mild gout"}},
            {"score": 0, "start": 0, "length": 4, "conceptinfo": {**GOUT, "conceptstring": "GOUT"}},
        ],
    }
]
BRAT = """\
T1\tMMLite 0 4\tGout
N1\tReference T1 Score:2.5\t2.5
N2\tReference T1 SemanticType:C0018099:dsyn\tdsyn
N3\tReference T1 ConceptId:C9000001\tMild gout
N4\tReference T1 ConceptId:C0018099\tGout
T2\tMMLite 17 26\tarthritis
N5\tReference T2 ConceptId:C0003864\tArthritis
"""


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf8")
    return path


def test_the_highest_ranked_concept_of_each_span_in_mmi(tmp_path):
    report = Report()
    path = written(tmp_path, "1.mmi", MMI)
    assert read_output(path, TEXT, report) == [
        Annotation(0, 4, ("C0018099",), "Gout"),
        Annotation(0, 26, ("C9000002",), "Gout arthritis"),
        Annotation(9, 26, ("C0003868",)),
        Annotation(17, 26, ("C0003864",), "Arthritis"),
        Annotation(29, 33, ("C0018099",), "GOUT"),
    ]
    assert report.broken == 0


def test_where_the_scores_are_alike_the_preferred_name_decides(tmp_path):
    gout = Annotation(0, 4, ("C0018099",), "GOUT")
    assert read_output(written(tmp_path, "1.json", json.dumps(JSON)), TEXT) == [gout]
    path = written(tmp_path, "1.ann", BRAT)
    assert read_output(path, TEXT) == [gout._replace(name=""), Annotation(17, 26, ("C0003864",))]


def test_java_counts_some_characters_twice(tmp_path):
    path = written(tmp_path, "1.ann", "T1\tMMLite 3 7\tgout\nN1\tReference T1 ConceptId:C0018099\tGout\n")
    assert read_output(path, "\U0001d6fc gout") == [Annotation(2, 6, ("C0018099",))]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("1.mmi", "1.txt|MMI|high|Gout|C0018099|[dsyn]|x|text|0/4||\n"),
        ("1.mmi", "1.txt|AA|x|y\n"),
        ("1.mmi", "1.txt|MMI|1.00|Gout|C0018099|[dsyn]|x|text|0/400||\n"),
        ("1.json", "[{"),
        ("1.json", "{}"),
        ("1.json", '[{"evlist": [{"start": "0"}]}]'),
        ("1.json", '[{"evlist": [{"start": -1, "length": 4, "conceptinfo": {"cui": "C0018099"}}]}]'),
        ("1.ann", "N1\tReference T1 ConceptId:C0018099\tGout\n"),
        ("1.ann", "T1 MMLite 0 4 Gout\n"),
    ],
)
def test_what_is_broken_is_counted(tmp_path, name, content):
    path, report = written(tmp_path, name, content), Report()
    assert read_output(path, TEXT, report) == []
    assert report.broken == 1


names = st.text('abc é|-,"', min_size=1).map(str.strip).filter(bool)
plain = st.text("abc é-,'", min_size=1).map(str.strip).filter(bool)
found = st.lists(
    st.builds(
        RankedAnnotation,
        st.integers(0, 10**6),
        st.integers(1, 99),
        st.integers(0, 9999999).map("C{:07}".format),
        st.integers(0, 1000).map(lambda score: score / 100),
        plain,
        plain,
    ),
    max_size=5,
)


def source(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("output") / "1"
    path.write_text(content, encoding="utf8")
    return Source(path, Report())


@given(found, names)
def test_mmi_comes_back(tmp_path_factory, found, text):
    lines = (
        f'1.txt|MMI|{ranked.score:.2f}|{ranked.preferred}|{ranked.concept_id}|[dsyn]|"{ranked.name}"-text-0-"x"-NN-0|text|'
        f"{ranked.start}/{ranked.length}|C05;C06|\n"
        for ranked in found
    )
    read = source(tmp_path_factory, "".join(lines))
    assert list(read_mmi(read)) == found
    assert read.report.broken == 0
    # whatever the triggers hold, the places are found
    line = f'1|MMI|1.00|n|C0000001|[dsyn]|"{text}"-text-0-"{text}"-NN-0|text|7/3||\n'
    assert [ranked[:3] for ranked in read_mmi(source(tmp_path_factory, line))] == [(7, 3, "C0000001")]


@given(found)
def test_json_comes_back(tmp_path_factory, found):
    entities = []
    for start, length, cui, score, preferred, name in found:
        info = {"cui": cui, "preferredname": preferred, "conceptstring": name}
        entities.append({"evlist": [{"start": start, "length": length, "score": score, "conceptinfo": info}]})
    assert list(read_json(source(tmp_path_factory, json.dumps(entities)))) == found


@given(found)
def test_brat_comes_back(tmp_path_factory, found):
    lines = (
        f"T{n}\tMMLite {ranked.start} {ranked.start + ranked.length}\tx\n"
        f"N{n}\tReference T{n} ConceptId:{ranked.concept_id}\t{ranked.preferred}\n"
        f"N{n}\tReference T{n} Score:{ranked.score}\t{ranked.score}\n"
        for n, ranked in enumerate(found)
    )
    assert list(read_brat(source(tmp_path_factory, "".join(lines)))) == [ranked._replace(name="") for ranked in found]


@given(st.text('|MI/;,"[]C0123456789\n\t{}TN :', max_size=60))
def test_no_content_breaks_a_reader(tmp_path_factory, content):
    read = source(tmp_path_factory, content)
    for reader in (read_mmi, read_json, read_brat):
        list(reader(read))


@pytest.mark.parametrize(
    ("name", "content", "rest"),
    [
        ("1.mmi", MMI.replace("0/4;29/4", "1" * 5000 + "/4"), 4),
        ("1.mmi", MMI.replace("|5.99|", "|nan|"), 4),
        ("1.mmi", MMI.replace("|5.99|", "|٣|"), 4),
        ("1.brat", BRAT.replace("T1\tMMLite 0 4", "T9\tMMLite 0 " + "4" * 5000) + BRAT, 4),
        ("1.json", json.dumps([{"evlist": [{**JSON[0]["evlist"][0], "score": 10**400}]}, *JSON]), 2),
        ("1.json", "[" * 100_000, 0),
        ("1.json", '[{"start": ' + "1" * 5000 + "}]", 0),
    ],
)
def test_numbers_that_cannot_be_held_are_counted(tmp_path, name, content, rest):
    report = Report()
    source = Source(written(tmp_path, name, content), report)
    readers = {".mmi": read_mmi, ".brat": read_brat, ".json": read_json}
    found = list(readers[source.path.suffix](source))
    assert report.broken >= 1
    assert len(found) == rest


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
