"""Small sound files of every format, all made up. The tests change them."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile

Files = dict[str, bytes]
"""The content of each file, by its path in a folder."""

# --- vocabularies

OBO = r"""format-version: 1.2

[Term]
id: F:1 ! red fever
name: red fever\, scarlet {source="a ! b", x="{y}"} ! comment
alt_id: F:4 {source="old"}
def: "A \"red\" fever.\nIt is red: [sic]." [PMID:1, "x"] {source="z"}
synonym: "fever (red)" EXACT ABBREVIATION [PMID:1]
is_a: F:0 {source="x"} ! fever
xref: url:http\://example.org/a\,b

[Term]
id: F:2
name: old fever
is_obsolete: true
replaced_by: F:1
"""
_PURL, _OIO = "http://purl.obolibrary.org/obo/", "http://www.geneontology.org/formats/oboInOwl#"
OBOGRAPH = {
    "graphs": [
        {
            "id": "g",
            "nodes": [
                {"id": f"{_PURL}F_1", "lbl": "red fever", "type": "CLASS", "meta": {
                    "definition": {"val": "A fever.", "xrefs": ["PMID:1"]},
                    "synonyms": [{"pred": "hasBroadSynonym", "val": "fever", "synonymType": "x#LAY"}],
                    "xrefs": [{"val": " UMLS_CUI:C1"}],
                    "basicPropertyValues": [{"pred": f"{_OIO}hasAlternativeId", "val": "F:3"}]}},
                {"id": f"{_PURL}F_2", "lbl": "old fever", "type": "CLASS", "meta": {"deprecated": True}},
            ],
            "edges": [{"sub": f"{_PURL}F_1", "pred": "is_a", "obj": f"{_PURL}F_0"}],
        }
    ]
}  # fmt: skip
LOINC = """"LOINC_NUM","COMPONENT","SYSTEM","CLASS","DefinitionDescription","STATUS","CONSUMER_NAME","RELATEDNAMES2",\
"SHORTNAME","LONG_COMMON_NAME","DisplayName"
"1-8","Red","Skin","S","How ""red"",\nby eye","ACTIVE","Red skin","C; S","R S","Redness","R"
"""
_TTL = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://x/D_1> a owl:Class ; rdfs:label "fever"@en, "fiebre"@es ; rdfs:subClassOf <http://x/D_0> .
<http://x/D_2> a skos:Concept ; skos:prefLabel "rash" ; skos:altLabel "red \\"rash\\"" ; skos:broader <http://x/D_1> .
"""
_OWL = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY obo "http://purl.obolibrary.org/obo/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
 xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:oio="http://www.geneontology.org/formats/oboInOwl#">
<owl:Class rdf:about="&obo;F_1"><rdfs:subClassOf rdf:resource="&obo;F_0"/><rdfs:label xml:lang="es">fiebre</rdfs:label>
<rdfs:label>red fever</rdfs:label><oio:hasExactSynonym>febris</oio:hasExactSynonym></owl:Class></rdf:RDF>"""
_ATOM = "{0}|ENG|P|L1|PF|S1|Y|A1||||ABC|PT|X1|{1}|0|N||\n"
_RX = "{0}|ENG||||||{0}||||RXNORM|{1}|c|{2}||N||\n"
_RELATION = "C0000001|A1|AUI|PAR|C0000002|A2|AUI||R1||ABC|ABC|||N||\n"
_RF2 = {
    "Terminology/sct2_Concept_Snapshot_INT_20990101.txt": (
        "id effectiveTime active moduleId definitionStatusId",
        [("100", "20990101", "1", "m", "x"), ("101", "20990101", "1", "m", "x"), ("102", "20990101", "0", "m", "x")],
    ),
    "Terminology/sct2_Description_Snapshot-en_INT_20990101.txt": (
        "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId",
        [
            ("1", "20990101", "1", "m", "100", "en", "900000000000003001", "Fever of colour (disorder)", "c"),
            ("2", "20990101", "1", "m", "100", "en", "900000000000013009", "Coloured fever", "c"),
            ("3", "20990101", "1", "m", "101", "en", "900000000000003001", 'Red "blood" fever (finding)', "c"),
        ],
    ),
    "Terminology/sct2_Relationship_Snapshot_INT_20990101.txt": (
        "id effectiveTime active moduleId sourceId destinationId relationshipGroup typeId characteristicTypeId "
        "modifierId",
        [("30", "20990101", "1", "m", "101", "100", "0", "116680003", "900000000000011006", "m")],
    ),
    "Refset/Language/der2_cRefset_LanguageSnapshot-en_INT_20990101.txt": (
        "id effectiveTime active moduleId refsetId referencedComponentId acceptabilityId",
        [("u", "20990101", "1", "m", "900000000000509007", "2", "900000000000548007")],
    ),
}


def zipped(files: Files) -> bytes:
    """Return a zip archive of files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def _text(name: str, *texts: str) -> list[Files]:
    return [{name: text.encode()} for text in texts]


_UMLS = {
    "MRCONSO.RRF": (_ATOM.format("C0000001", "red fever") + _ATOM.format("C0000002", "fever")).encode(),
    "MRSTY.RRF": b"C0000001|T047|A1|Disease or Syndrome|AT1||\nC0000002|T047|A1|Disease or Syndrome|AT2||\n",
    "MRDEF.RRF": b"C0000001|A1|AT1||ABC|A fever.|N||\n",
    "MRREL.RRF": _RELATION.encode(),
    "MRRANK.RRF": b"0100|ABC|PT|N|\n",
}
_SNOMED = {
    f"Snapshot/{name}": "".join("\t".join(row) + "\r\n" for row in (head.split(), *rows)).encode()
    for name, (head, rows) in _RF2.items()
}
VOCABULARIES: dict[str, list[Files]] = {
    "babelon": _text(
        "a.babelon.tsv",
        "source_language\ttranslation_language\tsubject_id\tsource_value\tpredicate_id\ttranslation_value\n"
        "en\tes\tF:1\tred fever\trdfs:label\tfiebre roja\nen\tes\tF:2\tx\toboInOwl:hasBroadSynonym\tfiebre\n",
    ),
    "biosyn": _text("a.txt", "D1|OMIM:2||red fever\nMESH:D2||fever &amp; rash\n3||Fieber\n"),
    "ctd": _text(
        "CTD_diseases.csv",
        "# Fields:\n# DiseaseName,DiseaseID,AltDiseaseIDs,Definition,ParentIDs,TreeNumbers,ParentTreeNumbers,Synonyms,"
        'SlimMappings\n#\nDiseases,MESH:C,,,,C,,,\n"Fever, red",MESH:D000001,DO:DOID:11|OMIM:1,"A ""red"" fever.",'
        "MESH:C|MESH:D2,C01,C,Red fever|Febris,\n",
    ),
    "discovered": _text(
        "a.tsv", "id\tkeep\tname\tmatched_name\tsimilarity\nMESH:D1\tyes\tfevers\tx\t0.9\nD2\tn\tb\tx\t0.5\n"
    ),
    "huner": _text("a.txt", "D1|OMIM:2||red fever|febris\nMESH:D2||rash\n", "D1\tfever\n"),
    "icd10cm": _text(
        "a.xml",
        '<?xml version="1.0" encoding="utf-8"?><ICD10CM.tabular><version>2099</version><chapter><name>1</name>'
        '<desc>Fevers (A00-B99)</desc><section id="A00-A09"><desc>Fevers (A00-A09)</desc><diag><name>A00</name>'
        "<desc>Red fever</desc><diag placeholder='true'><name>A00.0</name><desc>Red fever, &amp; rash</desc>"
        "<inclusionTerm><note>Febris rubra</note></inclusionTerm><sevenChrDef><extension char='A'>first</extension>"
        "</sevenChrDef></diag></diag></section></chapter></ICD10CM.tabular>",
    ),
    "json": _text("a.json", json.dumps([
        {"id": "1", "name": "red fever", "namespace": "fev", "synonyms": ['hot red" BROAD layperson [x:1]'],
         "xrefs": ["MSH:D1", "4"]},
        {"id": "FEV:1", "name": "fever", "alt_ids": ["FEV:2"], "relations": {"is_a": ["FEV:0"]}}], indent=1)),
    "loinc": _text("Loinc.csv", LOINC),
    "meddra": [{
        "llt.asc": b"10000001$Red fever$10000001$$$$$$$Y$$\n10000002$Fever, red$10000001$$$$$$$Y$$\n",
        "pt.asc": b"10000001$Red fever$$10000009$$$$$$$$\n",
        "hlt.asc": b"10000007$Coloured fevers$$$$$$$$\n",
        "hlgt.asc": b"10000010$Fevers$$$$$$$$\n",
        "soc.asc": b"10000009$General ills$Gen$$$$$$$$\n",
        "mdhier.asc": b"10000001$10000007$10000010$10000009$Red$Col$Fevers$General$Gen$$10000009$Y$\n",
    }],
    "medic": _text("a.txt", "C1|145250|MESH:D2||Red  fever|Fever, red\n123||Blue fever\n"),
    "obo": _text("a.obo", OBO),
    "obograph": _text("a.json", json.dumps(OBOGRAPH, indent=1)),
    "rdf": [*_text("a.ttl", _TTL), *_text("a.owl", _OWL)],
    "rxnorm": [{
        "RXNCONSO.RRF": (_RX.format(9, "IN", "rubrin") + _RX.format(10, "BN", "Redex")).encode(),
        "RXNSTY.RRF": b"9|T121|A1|Pharmacologic Substance|AT1||\n",
        "RXNREL.RRF": b"9||CUI|RO|10||CUI|tradename_of|1||RXNORM|RXNORM||||||\n",
        "RXNCUI.RRF": b"7|01JAN2090|02JAN2098|1|9|\n",
    }],
    "scispacy": _text(
        "a.jsonl",
        json.dumps({"concept_id": "C0000001", "canonical_name": "Red fever", "aliases": ["Fever, red"],
                    "types": ["T047"], "definition": "A fever."}) + '\n{"concept_id": "C2", "canonical_name": "a"}\n',
        json.dumps([{"concept_id": "C3", "canonical_name": "rash", "aliases": [], "types": []}], indent=1),
    ),
    "snomed": [_SNOMED],
    "table": _text(
        "a.tsv",
        "name\tid\tsynonyms\talternative_ids\ttypes\tdefinition\tparents\tnote\n"
        'red "fever"\tMESH:D1\tfever, red | febris\tOMIM:1|DOID:2\tDisease|Sign\tA fever.\tD2\tx\n',
    )
    + _text("a.csv", 'id,name\nD1,"a, ""b"""\nD2,febris\n'),
    "umls": [_UMLS, {"umls.zip": zipped({f"META/{name}": content for name, content in _UMLS.items()})}],
}  # fmt: skip

# --- corpora

PUBTATOR = """1|t|Renal failure.
1|a|Breast and ovarian cancer were seen.
1\t0\t13\tRenal failure\tDisease\tD051437
1\t15\t40\tBreast and ovarian cancer\tDisease\tD001943|D010051\tBreast cancer|ovarian cancer
1\tCID\tD000001\tD051437

2|t|Flu.
2|a|
2\t0\t3\tFlu\tDisease\tMESH:D007251
"""
BIOC = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection><source>ours</source>'
    "<date/><key/><document><id>1</id><passage><infon key='section'>t</infon><offset>0</offset><text>Renal failure."
    '</text><annotation id="1"><infon key="type">Disease</infon><infon key="MESH">D1</infon>'
    '<location offset="0" length="13"/><text>Renal failure</text></annotation></passage></document></collection>'
)
BIOC_JSON = {"source": "ours", "documents": [{"id": "1", "infons": {}, "passages": [{
    "offset": 0, "infons": {"type": "title"}, "text": "Renal failure and flu.", "relations": [],
    "annotations": [{"id": "1", "infons": {"type": "Disease", "identifier": "MESH:D1"}, "text": "Renal failure",
                     "locations": [{"offset": 0, "length": 13}]}]}]}]}  # fmt: skip
TAC = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<Label drug="Invented" track="TAC2017_ADR"><Text>'
    '<Section id="S1" name="warnings">\n  Pain and severe\n  rash.</Section><Section id="S2" name="x">Rash &amp; pain.'
    '</Section></Text><Mentions><Mention id="M1" section="S1" type="AdverseReaction" start="3" len="4" str="Pain"/>'
    '<Mention id="M2" section="S2" type="Severity" start="0,7" len="4,4" str="Rash pain"/></Mentions><Relations>'
    '<Relation id="RL1" type="Negated" arg1="M1" arg2="M2"/></Relations><Reactions><Reaction id="AR1" str="pain">'
    '<Normalization id="AR1.N1" meddra_pt="Pain" meddra_pt_id="10000001"/></Reaction></Reactions></Label>'
)
_COMETA = _text("a.txt", "ID\tTerm\tGeneral SNOMED ID\tSpecific SNOMED ID\tExample\n1\tfever\t1\t2\tx\n")
CORPORA: dict[str, list[Files]] = {
    "pubtator": _text("a.txt", PUBTATOR),
    "ncbi": _text("a.txt", PUBTATOR),
    "bioc": [*_text("a.xml", BIOC), *_text("a.json", json.dumps(BIOC_JSON))],
    "names": _text("a.txt", "fever\tD1\nrash\tD2|D3\n", "mention\tid\tsentence\nfever\tD1\tA fever.\n"),
    "cometa-general": _COMETA,
    "cometa-specific": _COMETA,
    "askapatient": _text("a.txt", "386661006\tfever\thot all over\n271807003\trash\tred r\u00e4sh\n"),
    "tac": _text("a.xml", TAC),
}

# --- documents

PUBMED = """<?xml version="1.0" encoding="utf-8"?>
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">123</PMID><Article><Journal><JournalIssue><PubDate>
<Year>2019</Year></PubDate></JournalIssue></Journal><ArticleTitle>[Effect of <i>APC</i> on Ca<sup>2+</sup>.]
</ArticleTitle><Abstract><AbstractText Label="METHODS">We  looked.</AbstractText></Abstract></Article>
</MedlineCitation></PubmedArticle><DeleteCitation><PMID Version="1">9</PMID></DeleteCitation></PubmedArticleSet>"""
JATS = """<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Archiving DTD v1.3 20210610//EN" "x.dtd">
<article xml:lang="en"><front><article-meta><article-id pub-id-type="pmid">123</article-id><title-group><article-title>
Role of <italic>APC</italic></article-title></title-group><abstract><p>Flu is bad.</p></abstract></article-meta></front>
<body><sec><label>1.</label><title>Methods</title><p>Of Ca<sup>2+</sup> (<xref ref-type="fig" rid="g">Fig. 1</xref>):
<list><list-item><p>one</p></list-item></list></p><table-wrap><table><tr><td>7</td></tr></table></table-wrap></sec></body>
</article>"""


def tarred(files: Files) -> bytes:
    """Return a tar archive of files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


DOCUMENTS: dict[str, list[Files]] = {
    "text": _text("a.txt", "A cold, \u00e4nd flu.\r\nMore.\n"),
    "lines": _text("a.txt", "A cold.\n\nFlu\u2028too.\n"),
    "jsonl": _text("a.jsonl", '{"id": "1", "title": "On", "text": "A cold.", "year": 2020, "x": [1.5, {"a": null}]}\n'),
    "csv": _text("a.csv", 'id,title,text,year\r\n7,On flu,"It is, ""bad"".\nVery.",2020\r\n,,No id,\r\n'),
    "tsv": _text("a.tsv", "id\ttitle\ttext\n7\tOn flu\tIt is bad.\n8\t\tNo.\n"),
    "pubtator": _text("a.pubtator", PUBTATOR),
    "bioc": CORPORA["bioc"],
    "pubmed": _text("a.xml", PUBMED),
    "jats": [*_text("a.nxml", JATS), {"a.tar": tarred({"PMC1/a.nxml": JATS.encode(), "b.txt": b"x"})}],
    "names": _text("a.tsv", "fever\t1\nrash\t2\n"),
}

# --- requests

REQUESTS = [
    {"method": "POST", "path": "/link", "body": {"text": "A cold and CF.", "id": "1", "year": 2020}},
    {"method": "POST", "path": "/batch", "body": [{"text": "aspirin"}, {"text": ""}, {"id": 7}, 1]},
]
REVIEW = [
    {"method": "GET", "path": "next?window=w&later=0"},
    {"method": "POST", "path": "mentions/0/decision?window=w", "body": {
        "action": "replace", "scope": "occurrence", "concept_ids": ["D003139"], "comment": "a", "seen": 1}},
    {"method": "POST", "path": "additions?window=w&number=0", "body": {
        "document": "", "start": 0, "end": 1, "concept_ids": ["D003139"], "label": "", "scope": "corpus"}},
    {"method": "GET", "path": "search?text=cold&by=name"},
]  # fmt: skip
