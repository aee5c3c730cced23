"""Every reader and every rule for texts takes time that grows with its input, not with the square of it.

The work is measured as time of the processor, so other programs do not count. Eight times the input may take 24 times
as long: a linear rule takes 8 times, a quadratic one 64 times. A case that takes longer is measured again, at last
with twice the size. There a linear rule comes nearer to 8 times, since the caches of the processor hold neither input.

The first touch of a page of memory can cost more than the rule itself. A small input often finds free memory in the
process, and a large one does not. So the process first takes memory that serves both.
"""

import gc
import json
import random
import sys
import time
from functools import partial
from itertools import product

import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_sapbert.documents import bioc as bioc_reader
from spacy_sapbert.documents.formats import ANNOTATED
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import READERS, ReadReport, read_vocabulary
from spacy_sapbert.pipeline.attributes import get_section, set_sections
from spacy_sapbert.pipeline.box import load
from spacy_sapbert.text.abbreviations import (
    AbbreviationOccurrence,
    expand,
    find_definitions,
    find_occurrences,
    longer_phrases,
)
from spacy_sapbert.text.composites import composite_splits
from spacy_sapbert.text.languages import LANGUAGES, rules_of
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS
from spacy_sapbert.text.notes.assertion import matcher_of, scope_bounds
from spacy_sapbert.text.notes.sections import Section, find_sections
from spacy_sapbert.text.short_forms import find_short_forms
from spacy_sapbert.text.words import read_words
from spacy_sapbert.types import Mention

LONGER, MOST = 8, 24
LEAST = 0.003  # seconds, which the clock measures well
LARGEST = 4_000  # work that is quicker than LEAST at this size is repeated, so that its memory stays small
HEAP = 30_000_000  # bytes; the C library gives memory back only above twice the largest block that was freed
BLOCK, BLOCKS = 400, 250_000  # bytes and count of small objects: 100 MB
KEPT = 1000  # one of so many objects stays; then Python gives back none of its arenas of 1 MB


@pytest.fixture(scope="module", autouse=True)
def _memory_of_the_process():
    block = bytes(HEAP)
    del block
    kept = [bytes(BLOCK) for _ in range(BLOCKS)][::KEPT]
    yield
    kept.clear()


def seconds(work, make, n, times=1):
    given = make(n)
    start = time.process_time()
    for _ in range(times):
        work(given)
    return time.process_time() - start


def is_linear(work, make=lambda n: n):
    """Measure work on what `make` makes of a size. Its time must be less than that of quadratic work."""
    n, times = 250, 1
    seconds(work, make, n)  # the first call may load something
    while n < LARGEST and seconds(work, make, n) < LEAST:
        n *= 2
    while seconds(work, make, n, times) < LEAST:
        times *= 2
    gc.disable()
    try:
        return any(
            seconds(work, make, LONGER * size, times) < MOST * min(seconds(work, make, size, times) for _ in range(3))
            for size in (n, n, 2 * n)
        )
    finally:
        gc.enable()


def test_the_measure_itself():
    def quadratic(text):
        return sum(text.find("b") for _ in text)

    assert is_linear(lambda n: sum(1 for _ in range(n)))
    assert not is_linear(quadratic, "a, ".__mul__)


# --- vocabularies

TERM = "[Term]\nid: D:1\nname: fever\n"


def lines(form, first=""):
    return lambda n: first + "".join(form.format(i=i, j=i + 1) for i in range(n))


def obo(old, new):
    return lambda n: TERM.replace(old, new(n))


def graph(nodes, edges=lambda n: []):
    return lambda n: json.dumps({"graphs": [{"nodes": nodes(n), "edges": edges(n)}]}, indent=1)


def node(i, **values):
    return {"id": f"http://x/D_{i}", "lbl": "fever", "type": "CLASS", **values}


def is_a(i):
    return {"sub": "http://x/D_0", "pred": "is_a", "obj": f"http://x/D_{i}"}


def scispacy(i, aliases):
    return {"concept_id": f"D{i}", "canonical_name": "a", "aliases": aliases}


def icd10cm(diagnoses):
    return f"<ICD10CM.tabular><chapter><section>{''.join(diagnoses)}</section></chapter></ICD10CM.tabular>"


def diagnosis(i, terms=""):
    return f"<diag><name>A{i}</name><desc>a</desc>{terms}</diag>"


RUBRIC = "<Rubric kind='preferred'><Label>a</Label></Rubric>"
MODIFIED = "".join(f"<ModifierClass code='{i}' modifier='M'>{RUBRIC}</ModifierClass>" for i in range(9))


def codes(n):
    return [{"code": f"{i}", "display": "a", "concept": [{"code": f"{i}.1", "display": "b"}]} for i in range(n)]


CTD = "# x\nDiseaseName\tDiseaseID\tAltDiseaseIDs\tDefinition\tParentIDs\tTreeNumbers\tParentTreeNumbers\tSynonyms\n"
BABELON = "subject_id\tpredicate_id\ttranslation_language\ttranslation_value\n"
PREFIXES = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
TABLE = "id\tname\tsynonyms\n"
ATOM = "|ENG|P|L1|PF|S1|Y|A1||||ABC|PT|X1|name {i}|0|N||\n"
VOCABULARIES = [
    ("obo", "blanks in a name", obo("fever", lambda n: "fever" + " " * n + "x")),
    ("obo", "blanks after a synonym", lambda n: f'{TERM}synonym: "a"{" " * n}"\n'),
    ("obo", "blanks before a scope", lambda n: f'{TERM}synonym: "a{" " * n}b"{" " * n}EXACT []\n'),
    ("obo", "blanks after an id", obo("D:1", lambda n: "D:1" + " " * n + "{")),
    ("obo", "blanks in a reference", lambda n: f"{TERM}xref: A:1{' ' * n}x\nproperty_value: a{' ' * n}b c\n"),
    ("obo", "a line of blanks", lambda n: TERM + " " * n + "\n"),
    ("obo", "modifiers", obo("fever", lambda n: "fever {" + 'a="b",' * n)),
    ("obo", "open modifiers", obo("fever", lambda n: "fever" + ' {a="b' * n)),
    ("obo", "a long modifier", obo("fever", lambda n: "fever {" + "a" * n)),
    ("obo", "comments", obo("fever", lambda n: "fever" + " !" * n + "\x0b\x85")),
    ("obo", "continued lines", obo("fever", lambda n: "fever" + "a\\\n" * n + "x")),
    ("obo", "backslashes", obo("fever", lambda n: "fever" + "\\" * n)),
    ("obo", "long ids", lambda n: f"{TERM}alt_id: {'a' * n}\nis_a: {'_' * n}\nxref: {'h' * n}:{':' * n}\n"),
    ("obo", "long addresses", lambda n: f"{TERM}alt_id: http://{'a_' * n}\nxref: http://{'/' * n}\n"),
    ("obo", "many ids", lines("alt_id: A:{i}\nis_a: B:{i}\nxref: C:{i}\n", TERM)),
    ("obo", "many names", lines('synonym: "a{i}" EXACT []\n', TERM)),
    ("obo", "many terms", lines("[Term]\nid: D:{i}\nname: fever\n")),
    ("obo", "a chain", lines("[Term]\nid: D:{i}\nname: a\nis_obsolete: true\nreplaced_by: D:{j}\n")),
    ("obo", "one replacement", lines("[Term]\nid: D:{j}\nname: a\nis_obsolete: true\nreplaced_by: D:0\n", TERM)),
    ("obograph", "nodes", graph(lambda n: [node(i) for i in range(n)])),
    ("obograph", "lines of broken nodes", graph(lambda n: [node(i, lbl=7) for i in range(n)])),
    ("obograph", "lines of equal nodes", graph(lambda n: [node(1, lbl=7) for _ in range(n)])),
    ("obograph", "lines of long nodes", graph(lambda n: [node(1, lbl=["id"] * n), node(7, lbl=7)])),
    ("obograph", "keys in a text", graph(lambda n: [node(1, lbl='"id": [ "id": {' * n), {"id": 7, "type": "CLASS"}])),
    ("obograph", "long ids", graph(lambda n: [node("_" * n), node("/" * n), node("A_1" * n)])),
    ("obograph", "edges", graph(lambda n: [node(i) for i in range(n)], lambda n: [is_a(i) for i in range(n)])),
    ("biosyn", "rows", lines("D{i}||a{i}\n")),
    ("biosyn", "ids of a row", lambda n: "|".join(f"D{i}" for i in range(n)) + "||a\n"),
    ("biosyn", "bars", lambda n: "|" * n + "\nD1||" + "|" * n),
    ("biosyn", "blanks", lambda n: f"D1||a{' ' * n}b\nD2{' ' * n}x||b\n"),
    ("biosyn", "long ids", lambda n: "".join(f"{sign * n}||b\n" for sign in ("1", "A", "_", ":", "/", "OMIM:", "+"))),
    ("huner", "rows", lines("D{i}||a{i}\n")),
    ("medic", "synonyms", lambda n: f"D1{'|C1' * n}||fever{'|a' * n}\n"),
    ("medic", "rows", lines("D{i}||a{i}|b\n")),
    ("ctd", "synonyms", lambda n: f"{CTD}fever\tMESH:D1\t{'|C1' * n}\td\t{'|D2' * n}\t\t\t{'|a' * n}\n"),
    ("ctd", "rows", lines("a{i}\tMESH:D{i}\t\td\t\t\t\ta\n", CTD)),
    ("table", "rows", lines("D{i}\ta{i}\t\n", TABLE)),
    # names of one character: Python's `csv` may refuse a cell with more than 131,072
    ("table", "synonyms", lambda n: f"{TABLE}D1\ta\t" + "|".join(chr(0x20000 + i) for i in range(n)) + "\n"),
    ("table", "quotes", lambda n: f"{TABLE}D1\ta\t" + '"' * n + "\n"),
    ("discovered", "rows", lines("yes\ta{i}\tD{i}\n", "keep\tname\tid\n")),
    ("babelon", "rows", lines("D:{i}\trdfs:label\tes\ta{i}\n", BABELON)),
    ("loinc", "rows", lines("{i}-1,a{i},b,ACTIVE\n", "LOINC_NUM,LONG_COMMON_NAME,COMPONENT,STATUS\n")),
    ("meddra", "rows", lines("{i}$a{i}$1$\n")),
    ("scispacy", "rows", lines('{{"concept_id": "D{i}", "canonical_name": "a", "aliases": ["b"], "types": []}}\n')),
    ("scispacy", "names", lambda n: json.dumps(scispacy(1, [f"b{i}" for i in range(n)]))),
    ("scispacy", "lines of a list", lambda n: json.dumps([scispacy(i, []) for i in range(n)], indent=1)),
    ("json", "lines of a list", lambda n: json.dumps([{"id": f"D{i}", "name": "a"} for i in range(n)], indent=1)),
    ("umls", "concepts", lines("C{i:07}" + ATOM)),
    ("umls", "names of a concept", lines("C0000001" + ATOM)),
    ("umls", "bars", lambda n: "|" * n + "\n"),
    ("rxnorm", "bars", lambda n: "|" * n + "\n"),
    ("rdf", "classes", lines('<http://x/D_{i}> a owl:Class ; rdfs:label "a" .\n', PREFIXES)),
    ("icd10cm", "codes", lambda n: icd10cm(map(diagnosis, range(n)))),
    ("icd10cm", "notes", lambda n: icd10cm([diagnosis(1, f"<inclusionTerm>{'<note>b</note>' * n}</inclusionTerm>")])),
    ("mesh", "records", lines("*NEWRECORD\nMH = a{i}\nMN = C01.{i}\nUI = D{i}\n")),
    ("claml", "classes", lines(f"<Class code='A{{i}}'><ModifiedBy code='M'/>{RUBRIC}</Class>\n", f"<ClaML>{MODIFIED}")),
    ("fhir", "nested codes", lambda n: json.dumps({"resourceType": "CodeSystem", "concept": codes(n)})),
    ("unii", "names of a substance", lines("NAME {i}\tcn\tA000000001\tNAME\n", "Name\tTYPE\tUNII\tDisplay Name\n")),
    ("ssslm", "rows", lines("fever {i}\tA:{i}\toboInOwl:hasExactSynonym\n", "text\tcurie\tpredicate\n")),
    ("mesh", "terms", lines("ENTRY = a{i}|NON|NRW|abd\nMN = C01.{i}\n", "*NEWRECORD\nUI = D1\n")),
]


def named(cases):
    return [pytest.param(*case, id=f"{case[0]}: {case[1]}") for case in cases]


def reading(read):
    def work(_):
        try:
            for _ in read():
                pass
        except SapbertError:
            pass  # the time until the error counts

    return work


def writing(path, make):
    return lambda n: path.write_text(make(n), encoding="utf-8")


FILES = {"umls": "MRCONSO.RRF", "rxnorm": "RXNCONSO.RRF", "rdf": "a.ttl", "table": "a.tsv", "meddra": "pt.asc"}


def place(folder, format):
    """Return the path of a vocabulary. The other files of MedDRA are empty."""
    if format == "meddra":
        for name in ("llt", "hlt", "hlgt", "soc", "mdhier"):
            (folder / f"{name}.asc").touch()
    return folder / FILES.get(format, "a.txt")


@pytest.mark.parametrize(("format", "case", "make"), named(VOCABULARIES))
def test_vocabularies(tmp_path, format, case, make):
    path = place(tmp_path, format)
    assert is_linear(reading(lambda: vocabulary_of(path, format)), writing(path, make))


def test_every_reader_of_vocabularies_has_a_case():
    # SNOMED CT, OMOP and BELB are folders of tables, which other readers read line by line as well
    assert {format for format, *_ in VOCABULARIES} == READERS.keys() - {"snomed", "omop", "belb"}


# --- corpora


def pubtator(form, words=lambda n: "fever " * n):
    return lambda n: f"1|t|Fever.\n1|a|{words(n)}\n" + "".join(form.format(7 + 6 * i, 12 + 6 * i) for i in range(n))


def annotation(i, at, text="fever", role=""):
    infon = f"<infon key='CompositeRole'>{role}</infon>" if role else ""
    return (
        f"<annotation id='{i}'><infon key='type'>Disease</infon><infon key='MESH'>D{i}</infon>{infon}"
        f"<location offset='{at}' length='{len(text)}'/><text>{text}</text></annotation>"
    )


def bioc_document(passages):
    return f"<collection><document><id>1</id>{''.join(passages)}</document></collection>"


def bioc_passage(offset, text, annotations=""):
    return f"<passage><offset>{offset}</offset><text>{text}</text>{annotations}</passage>"


def bioc(annotations):
    return lambda n: bioc_document([bioc_passage(0, "fever " * n, "".join(map(annotations, range(n))))])


def composite_and_part(i):
    whole = annotation(2 * i, 6 * i, "fever fever", "CompositeMention")
    return whole + annotation(2 * i + 1, 6 * i, "fever", "IndividualMention")


def parts_of_one(n):
    whole = annotation(0, 0, ("fever " * n).strip(), "CompositeMention")
    return bioc(lambda i: annotation(i + 1, 6 * i, "fever", "IndividualMention") + (whole if not i else ""))(n)


def bioc_json(n):
    found = [
        {"id": str(i), "infons": {"type": "Disease"}, "text": "fever", "locations": [{"offset": 6 * i, "length": 5}]}
        for i in range(n)
    ]
    passage = {"offset": 0, "text": "fever " * n, "annotations": found}
    return json.dumps({"documents": [{"id": "1", "passages": [passage]}]})


def tool(forms):
    """JSON lines of a tool with n mentions."""

    def make(n):
        spans = [(6 * i, 6 * i + 5, i) for i in range(n)]
        return json.dumps(
            {"text": "fever " * n, **{key: [make(*span) for span in spans] for key, make in forms.items()}}
        )

    return make


def label_studio(at):
    def make(n):
        result = [region(i, at(i)) for i in range(n)]
        return json.dumps([{"data": {"text": "fever " * n}, "predictions": [{"result": result}]}])

    return make


def xmi(annotations):
    head = "<xmi:XMI xmlns:xmi='x'><cas:Sofa xmi:id='1' sofaString='{}'/>"
    return lambda n: head.format("fever😀 " * n) + "".join(map(annotations, range(n))) + "</xmi:XMI>"


def named_entity(i, at):
    return f"<ner:NamedEntity sofa='1' begin='{at}' end='{at + 5}' value='D' identifier='HP:{i}'/>"


def region(i, at):
    return {"id": at, "from_name": "concept", "value": {"start": 6 * at, "end": 6 * at + 5, "text": [f"HP:{i}"]}}


def choice(i):
    spans = [{"start": 0, "end": 5, "label": "D"}]
    return json.dumps({"text": "fever", "options": [], "accept": [f"HP:{i}"], "spans": spans}) + "\n"


TOOLS = [
    ("brat", "mentions", lines("T{i}\tD 0 2\tT0\nN{i}\tReference T{i} HP:{i}\t\n")),
    ("brat", "concepts of one mention", lambda n: "T1\tD 0 2\tT1\n" + lines("N{i}\tReference T1 HP:{i}\t\n")(n)),
    ("brat", "pieces", lambda n: "T1\tD " + ";".join(f"{3 * i} {3 * i + 2}" for i in range(n)) + "\t\n"),
    ("xmi", "mentions", xmi(lambda i: named_entity(i, 8 * i))),
    ("xmi", "concepts of one mention", xmi(lambda i: named_entity(i, 0))),
    ("labelstudio", "mentions", label_studio(lambda i: i)),
    ("labelstudio", "one region", label_studio(lambda i: 0)),
    ("prodigy", "mentions", tool({"spans": lambda start, end, i: {"start": start, "end": end, "kb_id": f"HP:{i}"}})),
    ("prodigy", "choices", lambda n: "".join(map(choice, range(n)))),
    (
        "medcattrainer",
        "mentions",
        lambda n: (
            '{"projects": [{"documents": ['
            + tool({"annotations": lambda start, end, i: {"start": start, "end": end, "cui": f"HP:{i}"}})(n)
            + "]}]}"
        ),
    ),
    (
        "pubannotation",
        "mentions",
        tool({"denotations": lambda start, end, i: {"obj": f"Gene:{i}", "span": {"begin": start, "end": end}}}),
    ),
    (
        "doccano",
        "mentions",
        tool(
            {"label": lambda *span: [*span[:2], "D"], "links": lambda start, end, i: [start, end, "D", f"HP:{i}", []]}
        ),
    ),
]
CORPORA = [
    *TOOLS,
    ("pubtator", "mentions", pubtator("1\t{0}\t{1}\tfever\tDisease\tD1\n")),
    ("pubtator", "moved mentions", lambda n: pubtator("1\t{0}\t{1}\tfever\tDisease\tD1\n")(n).replace("|a|", "|a| x")),
    ("pubtator", "wrong mentions", pubtator("1\t{0}\t{1}\tzzzzz\tDisease\tD1\n")),
    ("pubtator", "equal mentions", pubtator("1\t7\t12\tfever\tDisease\tD1\n")),
    ("pubtator", "ids", lambda n: "1|t|Fever.\n1|a|x\n1\t0\t5\tFever\tDisease\t" + "|".join(f"D{i}" for i in range(n))),
    ("pubtator", "documents", lines("{i}|t|Fever.\n{i}|a|x\n{i}\t0\t5\tFever\tDisease\tD1\n\n")),
    ("pubtator", "bars and tabs", lambda n: "1|t|Fever.\n1|a|x\n" + "|" * n + "\n" + "\t" * n + "\n"),
    ("bioc", "mentions", bioc(lambda i: annotation(i, 6 * i))),
    ("bioc", "moved mentions", bioc(lambda i: annotation(i, 6 * i + 1))),
    ("bioc", "wrong mentions", bioc(lambda i: annotation(i, 6 * i, "zzz"))),
    ("bioc", "composites", bioc(composite_and_part)),
    ("bioc", "equal composites", bioc(lambda i: annotation(i, 0, "fever fever", "CompositeMention"))),
    ("bioc", "parts of one composite", parts_of_one),
    ("bioc", "single mentions", bioc(lambda i: annotation(i, 6 * i, "fever", "IndividualMention"))),
    ("bioc", "passages", lambda n: bioc_document(bioc_passage(6 * i, "fever") for i in range(n))),
    ("bioc", "JSON", bioc_json),
    ("names", "rows", lines("fever {i}\tD{i}\n")),
    ("names", "a long row", lambda n: "fever " * n + "\t" + "|".join(f"D{i}" for i in range(n)) + "\n"),
    ("askapatient", "rows", lines("{i}\tfever\tfever\n")),
]


@pytest.mark.parametrize(("format", "case", "make"), named(CORPORA))
def test_corpora(tmp_path, format, case, make):
    path = tmp_path / "a.txt"
    assert is_linear(reading(lambda: corpus_of(path, format)), writing(path, make))


def vocabulary_of(path, format):
    return read_vocabulary(path, format, report=ReadReport())


def corpus_of(path, format):
    return read_corpus(path, format, report=Report())


@pytest.mark.parametrize(
    ("read", "format", "make"),
    [
        pytest.param(read, format, make, id=f"{format}: {case}")
        for read, cases in ((vocabulary_of, VOCABULARIES), (corpus_of, CORPORA))
        for format, case, make in cases
        if case in ("rows", "documents")
    ],
)
def test_the_rows_of_a_case_are_read(tmp_path, read, format, make):
    """A case that ends in an error at its first line would measure nothing."""
    path = place(tmp_path, format)
    path.write_text(make(3))
    assert len(list(read(path, format))) == 3


@pytest.mark.parametrize("width", [1, 10**9], ids=["each its own", "all in the first"])
def test_parts_of_composites(width):
    """Alone, because reading the XML takes most of the time."""

    def mention(i, length, role):
        return bioc_reader._Annotation(str(i), Mention(i, i + length, "fever", "Disease"), role)

    def work(n):
        wholes = [mention(i, width, "CompositeMention") for i in range(n)]
        bioc_reader._merge_composites([*wholes, *(mention(i, 1, "IndividualMention") for i in range(n))])

    assert is_linear(work)


def test_every_reader_of_corpora_has_a_case():
    # a .spacy file is read by spaCy
    assert {format for format, *_ in CORPORA} == set(ANNOTATED) - {"spacy"}


# --- texts

SHAPES = {
    "one definition": "heart attack (HA) ", "open brackets": "(", "brackets that cross": "[(",
    "nested brackets": "(a [b ", "closing brackets": ")]", "words": "a ", "a list": "ABC; ", "capitals": "ABCDEFGHIJ",
    "blanks": " ", "commas": "A, ", "coordinations": "breast and ovarian cancer ", "slashes": "a/b/", "hyphens": "a-",
    "sentences": "a. ", "quotes": '"', "Greek": "α-β ", "numbers": "1,2-", "list markers": "(a) (b) (c) ",
    "line ends": "\n", "and": " and ", "headings": ".,PLAN:, no history of fever ", "cues": "denies if possible ",
    "short forms": "PE and RA ",
}  # fmt: skip


def abbreviations(text, rules):
    occurrences = find_occurrences(text, find_definitions(text, rules=rules))
    expand(text, 0, len(text), occurrences, rules)


def notes(text):
    find_sections(text, "en")
    for occurrence in find_occurrences(text, [], {}, [*find_short_forms(text)]):
        list(longer_phrases(text, occurrence))
    matcher_of("en").flags_of(text, (0, len(text)), [(at, at + 1) for at in scope_bounds(text, ())[:-1]])


def words_and_places(text):
    words = read_words(text)
    return words.starts, words.broken, words.commas, words.critical


FOLDED = ["words", "capitals", "blanks", "commas", "Greek", "coordinations"]
RULES = [
    *(("abbreviations", partial(abbreviations, rules=rules_of("en")), shape) for shape in SHAPES),
    *((code, partial(abbreviations, rules=rules_of(code)), "one definition") for code in LANGUAGES if code != "en"),
    *((rule.__name__, rule, shape) for rule in (composite_splits, words_and_places) for shape in SHAPES),
    *(("notes", notes, shape) for shape in SHAPES),
    *((name, form, shape) for name, form in TEXT_NORMALIZERS.items() for shape in FOLDED),
]


@pytest.mark.parametrize(("name", "rule", "shape"), RULES, ids=[f"{name}: {shape}" for name, _, shape in RULES])
def test_rules_for_texts(name, rule, shape):
    assert is_linear(rule, SHAPES[shape].__mul__)


def test_many_numbers_behind_one_beginning():
    assert is_linear(lambda text: read_words(text).critical, lambda n: " ".join(f"w{i}a" for i in range(n)))


def test_many_abbreviations():
    text = "".join(f"heart attack x{i} (HAX{i}) " for i in range(9 * 4000))
    assert is_linear(lambda n: abbreviations(text[: 20 * n], rules_of("en")))


@pytest.mark.parametrize(
    ("component", "shape"),
    [
        *product(["abbreviation_resolver", "composite_splitter"], ["one definition", "coordinations", "list markers"]),
        *product(["note_sections", "assertion_detector"], ["headings", "cues", "line ends"]),
    ],
)
def test_components(component, shape):
    nlp = spacy.blank("en")
    nlp.max_length = 10**9
    pipe = nlp.add_pipe(component)
    width = len(nlp.make_doc(SHAPES[shape]))

    def mentions(n):
        doc = nlp.make_doc(SHAPES[shape] * n)
        doc.ents = [Span(doc, i, i + width, "Disease") for i in range(0, len(doc), width)]
        return doc

    assert is_linear(pipe, mentions)


def test_the_sections_of_all_mentions():
    def mentions(n):
        doc = spacy.blank("en").make_doc("PLAN: fever.")
        set_sections(doc, [Section("plan", at, at, at + 1) for at in range(n)])
        return [doc[2:3]] * n

    assert is_linear(lambda spans: [get_section(span) for span in spans], mentions)


NUMBERS = random.Random(0)


def all_planes(n):
    """Each call returns another text, since spaCy's tokenizer remembers some thousand words."""
    points = NUMBERS.choices(range(sys.maxunicode + 1), k=n)
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)


PIPELINE = {
    "mentions": lambda n: "diabetes mellitus (DM), DM and breast or ovarian cancer; " * n,
    "other mentions": lambda n: " ".join(f"asthma x{i}," for i in range(n)),
    "all planes of Unicode": all_planes,
}


@pytest.mark.parametrize("shape", PIPELINE)
def test_the_pipeline_of_the_demo(shape):
    nlp = load()
    nlp.max_length = 10**9
    assert is_linear(nlp, PIPELINE[shape])


def test_abbreviations_of_the_cards_of_a_page():
    page = pytest.importorskip("spacy_sapbert.serve.page")
    nlp = spacy.blank("en")

    def work(n):
        doc = Doc(nlp.vocab, ["CF"] * n)
        occurrences = [AbbreviationOccurrence(3 * i, 3 * i + 2, "x", None, None) for i in range(n)]
        assert all(len(page.occurrences_in(doc[i : i + 1], occurrences)) == 1 for i in range(n))

    assert is_linear(work)
