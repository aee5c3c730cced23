import json
from typing import Any

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Name, Record

FORMAT = "obograph"

OBO = "http://purl.obolibrary.org/obo/"
IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"


def node(local: str, label: str | None = None, type: str | None = "CLASS", **meta: Any) -> dict[str, Any]:
    found = {"id": OBO + local, "lbl": label, "type": type, "meta": meta}
    return {key: value for key, value in found.items() if value}


def properties(**values: str) -> list[dict[str, str]]:
    return [{"pred": IN_OWL + name, "val": value} for name, value in values.items()]


def is_a(child: str, parent: str) -> dict[str, str]:
    return {"sub": OBO + child, "pred": "is_a", "obj": OBO + parent}


FEVER = node(
    "F_1",
    "red fever",
    definition={"val": "A fever.", "xrefs": ["PMID:1"]},
    synonyms=[
        {"pred": "hasExactSynonym", "val": "febris rubra", "xrefs": []},
        {"pred": "hasNarrowSynonym", "val": "scarlet fever"},
        {"pred": "hasBroadSynonym", "val": "fever"},
        {"pred": "hasRelatedSynonym", "val": "redness"},
        {"val": "reddening"},
    ],
    xrefs=[{"val": " UMLS_CUI:C1"}, {"val": "SNOMEDCT_US_2018_03_01:2"}],
    basicPropertyValues=properties(hasOBONamespace="fevers", hasAlternativeId="F:3", created_by="me"),
)
EDGES = [is_a("F_1", "F_0"), {"sub": OBO + "F_1", "pred": OBO + "RO_1", "obj": OBO + "F_9"}]


def document(nodes, edges=(), **graph) -> dict[str, Any]:
    return {"graphs": [{"id": "x", "nodes": list(nodes), "edges": list(edges), **graph}]}


def test_a_class(read, tmp_path):
    records, _ = read(tmp_path / "f.json", document([FEVER], EDGES), types=["Disease"], strict=True)
    texts = ["red fever", "febris rubra", "scarlet fever", "fever", "redness", "reddening"]
    scopes = ["preferred", "exact", "narrow", "broad", "related", "related"]
    names = tuple(Name(text, scope, "f") for text, scope in zip(texts, scopes, strict=True))
    wanted = Record("F:1", names, ("F:3",), ("fevers",), "A fever.", ("F:0",), ("C1", "SNOMEDCT:2"))
    assert records == [wanted]


def test_nodes_that_give_no_record_are_counted(read, tmp_path):
    others = [node(f"F_{type}", "b", type=type) for type in ("PROPERTY", "INDIVIDUAL", None)]
    nodes = [node("F_1", "a", deprecated=True), *others, node("F_5"), node("F_6", "e")]
    records, report = read(tmp_path / "f.json", document(nodes))
    assert [record.concept_id for record in records] == ["F:6"]
    assert report.rows_read == 6
    assert report.rows_dropped == {"obsolete": 1, "property": 1, "individual": 1, "no type": 1, "no name": 1}


def test_subclasses_of_the_obsolete_class_are_obsolete(read, tmp_path):
    nodes = [node("ObsoleteClass", "obsolete class"), node("F_1", "a"), node("F_2", "b")]
    records, report = read(tmp_path / "f.json", document(nodes, [is_a("F_1", "ObsoleteClass"), is_a("F_2", "F_1")]))
    assert [record.concept_id for record in records] == ["F:2"]
    assert report.rows_dropped == {"obsolete": 2}


def test_an_id_that_was_replaced_is_an_alternative_id(read, tmp_path):
    replaced_by = [{"pred": OBO + "IAO_0100001", "val": OBO + "F_2"}]
    old = node("F_1", "a", deprecated=True, basicPropertyValues=replaced_by + properties(hasAlternativeId="F:0"))
    records, _ = read(tmp_path / "f.json", document([old, node("F_2", "b")]))
    assert [(record.concept_id, record.alternative_ids) for record in records] == [("F:2", ("F:1", "F:0"))]


def test_types(read, tmp_path):
    graph = document([node("F_1", "a")], meta={"basicPropertyValues": properties(**{"default-namespace": "fevers"})})
    assert read(tmp_path / "f.json", graph)[0][0].types == ("fevers",)
    assert read(tmp_path / "f.json", graph, types=["Disease"])[0][0].types == ("Disease",)
    assert read(tmp_path / "f.json", document([FEVER]))[0][0].types == ("fevers",)


def test_graphs_after_the_first_are_imports(read, tmp_path):
    content = {"graphs": document([FEVER])["graphs"] + document([node("CHEBI_1", "acid")])["graphs"]}
    records, report = read(tmp_path / "f.json", content)
    assert [record.concept_id for record in records] == ["F:1"]
    assert report.rows_dropped == {"imported": 1}
    records, report = read(tmp_path / "f.json", content, imports=True)
    assert [record.concept_id for record in records] == ["F:1", "CHEBI:1"]
    assert read(tmp_path / "f.json", {"graphs": [{"id": "x"}]})[0] == []


def test_prefixes(read, tmp_path):
    nodes = [FEVER, node("CHEBI_1", "acid"), {**node("", "fever"), "id": "http://www.orpha.net/ORDO/Orphanet_2"}]
    records, report = read(tmp_path / "f.json", document(nodes), prefixes=["f", "orphanet"])
    assert [record.concept_id for record in records] == ["F:1", "Orphanet:2"]
    assert report.rows_dropped == {"other prefix": 1}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({**FEVER, "id": OBO + "F_é1", "lbl": 1}, "lbl is not a str"),
        ({**FEVER, "id": "F:2", "meta": []}, "meta is not a dict"),
        ({"lbl": "nameless", "type": "CLASS"}, "no id"),
        (node("F_2", "a", synonyms={}), "synonyms is not a list"),
        (node("F_2", "a", synonyms=["b"]), "synonyms holds something that is not a dict"),
        (node("F_2", "a", synonyms=[{"pred": "hasExactSynonym", "val": 1}]), "val is not a str"),
        (node("F_2", "a", basicPropertyValues=[{"pred": None, "val": None}, 1]), "basicPropertyValues holds"),
    ],
)
def test_broken_nodes_are_reported(read, tmp_path, broken, reason):
    lines = ",\n".join(json.dumps(each) for each in (FEVER, broken, node("F_9", "last")))
    text = f'{{"graphs": [{{"edges": [], "nodes": [\n{lines}]}}]}}'
    records, report = read(tmp_path / "f.json", text)
    assert [record.concept_id for record in records] == ["F:1", "F:9"]
    (problem,) = report.problems
    assert problem.reason.startswith(f"node {broken.get('id') or 'nameless'}: ")
    assert reason in problem.reason
    with pytest.raises(SapbertError, match=r"E127.*f\.json, line 1: node "):
        read(tmp_path / "f.json", text, strict=True)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "there is no key graphs"),
        ("{}", "there is no key graphs"),
        ({"graphs": {}}, "graphs is not a list"),
        ({"graphs": ["x"]}, "graphs holds something that is not a dict"),
        ({"graphs": [{"nodes": 1}]}, "nodes is not a list"),
        (document([], [1]), "edges holds something that is not a dict"),
        (document([], [{"sub": 1}]), "sub is not a str"),
    ],
)
def test_other_json(read, tmp_path, content, reason):
    with pytest.raises(SapbertError, match=rf"E121.*f\.json.*obograph: {reason}"):
        read(tmp_path / "f.json", content)


def test_a_file_that_was_cut_off(read, tmp_path):
    text = json.dumps(document([FEVER], EDGES), indent=1)
    with pytest.raises(SapbertError, match=r"E127.*f\.json, line \d\d"):
        read(tmp_path / "f.json", text[:-20])
    with pytest.raises(SapbertError, match=r"E127.*too deeply"):
        read(tmp_path / "f.json", "[" * 100_000)
    with pytest.raises(SapbertError, match=r"E127.*line 2: .*too many digits"):
        read(tmp_path / "f.json", '{"graphs": [{"nodes": [{"id": 12},\n{"id": ' + "1" * 5000 + "}]}]}")
