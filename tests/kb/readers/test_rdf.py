import gzip
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import guess_format
from spacy_sapbert.types import Name, Record

pyoxigraph = pytest.importorskip("pyoxigraph")

# invented diseases
OWL = """\
<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [
  <!ENTITY owl 'http://www.w3.org/2002/07/owl#'>
  <!ENTITY obo "http://purl.obolibrary.org/obo/">
]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
    xmlns:owl="&owl;" xmlns:obo="&obo;" xmlns:oio="http://www.geneontology.org/formats/oboInOwl#">
  <owl:Ontology rdf:about="&obo;f.owl"><owl:imports rdf:resource="&obo;g.owl"/></owl:Ontology>
  <owl:AnnotationProperty rdf:about="&obo;IAO_0000115"><rdfs:label>definition</rdfs:label></owl:AnnotationProperty>
  <owl:Class rdf:about="&obo;F_1">
    <rdfs:subClassOf rdf:resource="&obo;F_0"/>
    <rdfs:subClassOf>
      <owl:Restriction><owl:onProperty rdf:resource="&obo;RO_1"/>
        <owl:someValuesFrom rdf:resource="&obo;F_9"/></owl:Restriction>
    </rdfs:subClassOf>
    <rdfs:label>red fever</rdfs:label>
    <rdfs:label xml:lang="es">fiebre roja</rdfs:label>
    <oio:hasExactSynonym>febris rubra</oio:hasExactSynonym>
    <oio:hasNarrowSynonym xml:lang="en">scarlet fever</oio:hasNarrowSynonym>
    <oio:hasBroadSynonym>fever</oio:hasBroadSynonym>
    <oio:hasRelatedSynonym>reddening</oio:hasRelatedSynonym>
    <obo:IAO_0000115>A fever that is red.</obo:IAO_0000115>
    <oio:hasDbXref>UMLS_CUI:C0000001</oio:hasDbXref>
    <oio:hasAlternativeId>F:3</oio:hasAlternativeId>
    <oio:hasOBONamespace>fevers</oio:hasOBONamespace>
  </owl:Class>
  <owl:Class rdf:about="&obo;F_2">
    <rdfs:label>crimson fever</rdfs:label>
    <owl:deprecated rdf:datatype="http://www.w3.org/2001/XMLSchema#boolean">true</owl:deprecated>
    <obo:IAO_0100001 rdf:resource="&obo;F_1"/>
  </owl:Class>
  <owl:Class rdf:about="&obo;F_9"/>
</rdf:RDF>
"""
SKOS = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix f: <http://example.org/F_> .

f:1 a skos:Concept ; skos:prefLabel "red fever"@en-GB , "fiebre roja"@es ;
    skos:altLabel "febris rubra"@la , "red fevr" ; skos:hiddenLabel "rad fever"@en ;
    skos:broader f:0 ; skos:exactMatch <http://id.nlm.nih.gov/mesh/D000001> ;
    skos:definition "A red one."@en .
f:0 a skos:Concept ; skos:prefLabel "fever"@en ; skos:narrower f:2 .
f:2 a skos:Concept ; skos:prefLabel "fiebre azul"@es .
"""


def test_a_class_with_everything(read, tmp_path):
    records, report = read(tmp_path / "f.owl", OWL, strict=True)
    names = [("red fever", "preferred"), ("febris rubra", "exact"), ("scarlet fever", "narrow"), ("fever", "broad")]
    assert records == [
        Record(
            "F:1",
            # each name has the language that the file gives
            tuple(
                Name(text, scope, "f", "en" * (scope == "narrow")) for text, scope in [*names, ("reddening", "related")]
            ),
            ("F:3", "F:2"),
            ("fevers",),
            "A fever that is red.",
            ("F:0",),
            ("C0000001",),
        )
    ]
    assert report.rows_read == 4
    assert report.rows_dropped == {"property": 1, "obsolete": 1, "no name": 1}
    assert report.names_dropped == {"language": 1}
    assert report.notes == {"imported ontologies that are not read": 1}


def test_a_concept_with_everything(read, tmp_path):
    records, report = read(tmp_path / "f.ttl", SKOS, strict=True)
    texts = ("red fever", "red fevr", "rad fever")
    assert [record.concept_id for record in records] == ["F:1", "F:0"]
    assert {name.text for name in records[0].names} == set(texts)
    assert records[0].names[0] == Name("red fever", "preferred", "f", "en")
    assert (records[0].definition, records[0].parents, records[0].xrefs) == ("A red one.", ("F:0",), ("D000001",))
    assert report.rows_dropped == {"no name": 1}
    assert report.names_dropped == {"language": 3}


def test_languages(read, tmp_path):
    records, report = read(tmp_path / "f.ttl", SKOS, languages=("es",), strict=True)
    assert [record.names[0].text for record in records] == ["fiebre roja", "fiebre azul"]
    assert report.names_dropped == {"language": 4}
    records, _ = read(tmp_path / "f.ttl", SKOS, languages=("ES", "en"))
    assert [record.names[0].text for record in records] == ["fiebre roja", "fever", "fiebre azul"]
    # f:0 says that f:2 is narrower
    assert records[2].parents == ("F:0",)
    records, report = read(tmp_path / "f.ttl", SKOS, languages=())
    assert [record.names[0].text for record in records] == ["red fever", "fever", "fiebre azul"]
    assert not report.names_dropped


def test_prefixes(read, tmp_path):
    text = SKOS + '<http://example.org/G_1> a skos:Concept ; skos:prefLabel "g" .\n'
    records, report = read(tmp_path / "f.ttl", text, prefixes=("g",))
    assert [record.concept_id for record in records] == ["G:1"]
    assert report.rows_dropped == {"other prefix": 3}


def test_other_forms_of_the_same_triples(read, tmp_path):
    expected, _ = read(tmp_path / "f.ttl", SKOS)
    quads = list(pyoxigraph.parse(SKOS.encode(), format=pyoxigraph.RdfFormat.TURTLE))
    for suffix, format in {"rdf": "RDF_XML", "nt": "N_TRIPLES", "nq": "N_QUADS", "trig": "TRIG"}.items():
        triples = [quad if suffix in ("nq", "trig") else quad.triple for quad in quads]
        data = pyoxigraph.serialize(triples, format=getattr(pyoxigraph.RdfFormat, format))
        assert read(tmp_path / f"f.{suffix}", data)[0] == expected
        assert read(tmp_path / f"f.{suffix}.gz", gzip.compress(data))[0] == expected
        assert guess_format(tmp_path / f"f.{suffix}.gz") == "rdf"
    (tmp_path / "f.xml").write_text(OWL)
    assert guess_format(tmp_path / "f.xml") == "rdf"
    latin = SKOS.replace("red fevr", "red féver").encode("latin-1")
    assert "red féver" in {name.text for name in read(tmp_path / "l.ttl", latin, encoding="latin-1")[0][0].names}


def test_a_label_that_is_no_text(read, tmp_path):
    text = SKOS + "f:0 skos:altLabel f:7 .\n"
    records, report = read(tmp_path / "f.ttl", text)
    assert len(records) == 2
    assert [problem.reason for problem in report.problems] == [
        "the label http://example.org/F_7 of <http://example.org/F_0> is not a text"
    ]
    with pytest.raises(SapbertError, match="E127"):
        read(tmp_path / "f.ttl", text, strict=True)


def test_a_circle_of_replacements(read, tmp_path):
    text = SKOS + "".join(
        f"f:{one} a skos:Concept ; <http://www.w3.org/2002/07/owl#deprecated> true ; "
        f"<http://purl.org/dc/terms/isReplacedBy> f:{other} .\n"
        for one, other in ((7, 8), (8, 7), (9, 1))
    )
    records, _ = read(tmp_path / "f.ttl", text)
    assert [record.alternative_ids for record in records] == [("F:9",), ()]


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("f.ttl", SKOS.replace("fever", 'fe"ver', 1), r"E127.*f\.ttl, line 4: this is not valid Turtle"),
        ("f.ttl", SKOS.replace("red fevr", "red féver").encode("latin-1"), r"E127.*line 5.*utf-8"),
        ("f.ttl.gz", gzip.compress(SKOS.encode())[:-9], "E121"),
        ("f.owl", OWL.replace("</owl:Class>", "", 1), r"E127.*f\.owl: this is not valid RDF/XML"),
        ("f.owl", OWL[:-20], r"E127.*RDF/XML"),
        ("f.owl", OWL[:80], r"E163"),
        ("f.owl", OWL.replace("<!ENTITY obo", "<!ENTITY obo obo"), r"E127.*line 4"),
        ("f.owl", '<?xml version="1.0"?><Ontology/>', r"E163.*OWL/XML.*robot convert"),
        ("f.owl", "Prefix(:=<http://example.org/>)\nOntology()", r"E163.*functional syntax"),
        ("f.owl", "Prefix: f: <http://example.org/>\n", r"E163.*Manchester"),
    ],
)
def test_what_cannot_be_read(read, tmp_path, name, data, error):
    with pytest.raises(SapbertError, match=error):
        read(tmp_path / name, data)


@pytest.mark.parametrize(
    "entity", ['SYSTEM "file:///etc/passwd"', '"&obo;&obo;"', f'"{"a" * 1000}"', '"<a/>"'], ids=range(4)
)
def test_unsafe_entities_are_refused(read, tmp_path, entity):
    text = OWL.replace("]>", f"<!ENTITY bad {entity}>]>").replace("red fever", "&bad;")
    with pytest.raises(SapbertError, match=r"E206.*line 5.*entity bad"):
        read(tmp_path / "f.owl", text)


def test_the_library_is_missing(read, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(SapbertError, match=r"E542.*spacy-sapbert\[ontologies\]"):
        read(tmp_path / "f.ttl", SKOS)


texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "Zs")), min_size=1).filter(lambda text: text.strip())
FIELDS = {scope: f"has{scope.capitalize()}Synonym" for scope in ("exact", "narrow", "broad", "related")}
synonyms = st.lists(st.tuples(texts, st.sampled_from(list(FIELDS))), max_size=3)


@pytest.mark.parametrize("syntax", ["RDF_XML", "TURTLE"])
@given(st.lists(st.tuples(texts, synonyms, st.integers(0, 9)), max_size=4))
def test_what_is_written_is_read(read, tmp_path_factory, syntax, terms):
    def iri(row):
        return pyoxigraph.NamedNode(f"http://purl.obolibrary.org/obo/F_{row}")

    def triple(row, namespace, name, of):
        return pyoxigraph.Triple(iri(row), pyoxigraph.NamedNode(namespace + name), of)

    rdf, rdfs = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
    triples = []
    for row, (label, others, parent) in enumerate(terms):
        triples += [
            triple(row, rdf, "type", pyoxigraph.NamedNode("http://www.w3.org/2002/07/owl#Class")),
            triple(row, rdfs, "label", pyoxigraph.Literal(label)),
            triple(row, rdfs, "subClassOf", iri(parent)),
            *(
                triple(row, "http://www.geneontology.org/formats/oboInOwl#", FIELDS[scope], pyoxigraph.Literal(text))
                for text, scope in others
            ),
        ]
    path = tmp_path_factory.mktemp("rdf") / ("f.owl" if syntax == "RDF_XML" else "f.ttl")
    data = pyoxigraph.serialize(triples, format=getattr(pyoxigraph.RdfFormat, syntax))
    records, _ = read(path, data, strict=True)
    assert [record.concept_id for record in records] == [f"F:{row}" for row, _ in enumerate(terms)]
    for record, (label, others, parent) in zip(records, terms, strict=True):
        wanted = [(label, "preferred"), *sorted(others, key=lambda item: list(FIELDS).index(item[1]))]
        assert [(name.text, name.scope) for name in record.names] == list(
            dict.fromkeys((" ".join(text.split()), scope) for text, scope in wanted)
        )
        assert record.parents == (f"F:{parent}",)
