"""No regular expression and no component takes more than linear time: no text of a user can make it hang.

Run as a program, the file measures the times in a process of its own, and prints a line of JSON a case: its name and
the processor seconds for `SMALL` and `LARGE` characters.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

import spacy_sapbert
from spacy_sapbert.errors import SapbertError

SMALL, LARGE = 25_000, 100_000
PACKAGE = Path(spacy_sapbert.__file__).parent
GROWTH = 8  # for four times the text; one that took the square of the time would take 16 times as long
FLOOR = 0.1  # processor seconds that say nothing of the growth
LIMIT = 240  # seconds for all cases together; they take about a tenth of it

# By module and name: the method that is called, and worst inputs, each as a beginning, what is repeated, and an end.
PATTERNS: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "augmentation.documents._SENTENCE_END": ("finditer", [("a.", " ", "a"), ("", ".''", ""), ("", "\n ", "a")]),
    "augmentation.documents._WORD": ("finditer", [("", "a", "!"), ("", "a ", "")]),
    "augmentation.eutils._NO_LETTER": ("finditer", [("", "!", "a"), ("", "a!", "")]),
    "augmentation.exclusion._PMID": ("fullmatch", [("pmid", " ", "x"), ("pmid:", "0", "x"), ("", "1", "x")]),
    "augmentation.filters._VERB": ("finditer", [("lead", " ", "x"), ("", "leads in", "")]),
    "augmentation.metamap._MMI_CUI": ("fullmatch", [("C", "1", "")]),
    "augmentation.metamap._MMI_TYPES": ("fullmatch", [("[", "a", ""), ("", "[", "")]),
    "augmentation.metamap._MMI_POSITIONS": ("fullmatch", [("[1/", "1", "x"), ("", "1", "x"), ("1/1", "/1", "x")]),
    "augmentation.metamap._TRIGGER": (
        "finditer",
        [("", '"', ""), ('"a"-', "a", ""), ('"a"-a-', "1", "x"), ("", '"a"-a-1-', ""), ('"a"-a-1-"a"-', "-1", "x")],
    ),
    "augmentation.metamap._PIECE": ("finditer", [("", "1", ""), ("1/", "1", "x"), ("", "1/", "")]),
    "augmentation.metamap._BRAT_SPAN": ("fullmatch", [("T1\ta 1 1", ";1 1", "x"), ("T", "1", "x"), ("T1\t", "a", "")]),
    "augmentation.metamap._BRAT_CONCEPT": ("fullmatch", [("N1\tReference T1 ", "a", ""), ("N", "1", "x")]),
    "augmentation.search._WORD": ("finditer", [("", "a", "!"), ("", "a ", "")]),
    "documents.formats.PUBTATOR_TITLE": ("match", [("", "a", ""), ("", "a|", "")]),
    "documents.pubmed._NUMBER": ("findall", [("", "1", ""), ("", "1 ", "")]),
    "documents.pubmed._MARK": (
        "finditer",
        [("", "<Pubmed", ""), ("", "<PubmedArticle ", ""), ("<DeleteCitation", "n", "")],
    ),
    "documents.med1250._PMID": ("fullmatch", [("", " ", "x"), ("", "1", "x"), ("1", " ", "x")]),
    "documents.med1250._PAIR": ("match", [("", " ", "")]),
    "documents.pubtator._HEAD": ("fullmatch", [("", "a", ""), ("", "a|", "")]),
    "cli.init._PAGE": ("sub", [("", "docs/", ""), ("docs/", "a", ""), ("", "docs/a", "")]),
    "documents.reader._CUI": ("fullmatch", [("C", "1", "")]),
    "documents.reader._TAG": ("search", [("", "<", ""), ("<", " ", ""), ("", "< ", "")]),
    "encoders.ngrams._SPACES": ("sub", [("", " ", "x"), ("", "a ", ""), ("", "  a", ""), ("", "\t\n", "")]),
    "evaluation.composites._CONNECTOR": ("search", [("", "a", ""), ("", "an ", "")]),
    "evaluation.linking_errors._TOKEN": ("findall", [("", "a-", "!"), ("", "a", "-")]),
    "evaluation.linking_errors._ROMAN_NUMERAL": ("fullmatch", [("", "I", "x")]),
    "outputs.addresses._CELL_LINE": ("fullmatch", [("CVCL_", "A", "")]),
    "files.source._ESCAPED": ("search", [("", "a", ""), ("", "\\udc80", "")]),
    "kb.ids._PREFIX": ("fullmatch", [("", "a", " "), ("", "a.", ":")]),
    "kb.ids._SEPARATORS": ("split", [("", "|", ""), ("", "a", "")]),
    "kb.ids._SUPPLEMENTARY": ("fullmatch", [("C", "1", ""), ("OMIM:", "1", "x")]),
    "kb.ids._SINGLE_ID": ("fullmatch", [("", "a", " ")]),
    "kb.mapping._CUI": ("fullmatch", [("C", "1", "")]),
    "kb.mapping._MESH_ID": ("fullmatch", [("D", "1", "")]),
    "kb.readers.ontology._IRI": ("fullmatch", [("http://", "a", " "), ("http://", "www.", " ")]),
    "kb.readers.ontology._RESOLVER": ("fullmatch", [("bioregistry.io/", "a", ""), ("bioregistry.io/a:", ":a", "/")]),
    "kb.readers.ontology._OBO": (
        "fullmatch",
        [("", "/", ""), ("a/B_", "1", "?"), ("a/B", "_B", "?"), ("a/", "B", "?"), ("", "/B_1", "?")],
    ),
    "kb.readers.ontology._RELEASE": (
        "search",
        [("", " ", ""), ("", "a2000", ""), ("a", "2000_", " "), ("a2000", " ", "")],
    ),
    "kb.readers.icd10cm._RANGE": ("search", [("", "(A00", ")"), ("(A00)", " ", "x"), ("", "(A00-A00) ", "x")]),
    "kb.readers.sniff._ROOT_ELEMENT": ("search", [("", "<", ""), ("<", "a", ""), ("", "<!", "")]),
    "kb.readers.snomed._FILE": (
        "fullmatch",
        [
            ("sct2_Concept_", "Full", "x"),
            ("sct2_Concept_", "a", "Full"),
            ("sct2_Concept_Snapshot", "-a", "x"),
            ("sct2_Concept_Snapshot_", "a", "_"),
            ("sct2_Concept_Full-", "a", "_"),
        ],
    ),
    "kb.readers.snomed._SEMANTIC_TAG": (
        "search",
        [("", "(", ""), ("(", "a", ""), ("(a)", " ", "x"), ("", "(a) ", "x"), ("", " ", "x")],
    ),
    "kb.readers.json_list._REST_OF_OBO": (
        "match",
        [("x", '" EXACT [', ""), ("x", '" EXACT [', "\n]"), ("x", '" EXACT ', ""), ('x" EXACT ', "a", "")],
    ),
    "kb.readers.json_text._BLANK": ("match", [("", " ", "x")]),
    "kb.readers.obo._ESCAPE": ("sub", [("", "\\", ""), ("", "\\a", "")]),
    "kb.readers.obo._ID": ("match", [("", "a", " "), ("", "\\a", "\\")]),
    "kb.readers.obo._COMMENT": ("sub", [("a", " ", "b"), ("", " !a", ""), ("", "!", "")]),
    "kb.readers.obo._MODIFIERS": (
        "sub",
        [
            ("a", " ", "b"),
            ("", " {a=b", "x"),
            (" {a=b", ",a=b", ""),
            (" {", "a", ""),
            (' {a="', "\\a", ""),
            ("{", " ", ""),
        ],
    ),
    "kb.readers.obo._QUOTED": (
        "match",
        [('"', "a", ""), ('"', "\\a", ""), ('"a"', " ", '"'), ('"a" EXACT', " ", '"'), ('"a" ', "a", ' b "')],
    ),
    "kb.readers.obograph._SCOPE": ("search", [("", "hasExactSynonym", "x")]),
    "kb.readers.obograph._NAMING": (
        "finditer",
        [("", '"id":[', ""), ("", '"id":{', ""), ('"id"', " ", ""), ('"id":"', "\\a", ""), ("", '"id":1', "")],
    ),
    "kb.readers.ontology.OBSOLETE_CLASS": ("fullmatch", [("", "#ObsoleteClass", "x"), ("", "#", "")]),
    "kb.readers.context._CONTROL": ("subn", [("", "\0", ""), ("", "a\0", "")]),
    "kb.readers.table._LITERAL": (
        "fullmatch",
        [('"', "a", ""), ('"', "\\a", ""), ('"a"@', "a", " "), ('"a"^^', "a", " ")],
    ),
    "kb.readers.table._ESCAPE": ("sub", [("", "\\", ""), ("", "\\a", "")]),
    "kb.readers.umls.release._FILE": ("fullmatch", [("MRCONSO.RRF.", "a", "")]),
    "kb.readers.umls.release._RXNORM_RELEASE": ("findall", [("", "RxNorm_full_", ""), ("", "RxNorm_weekly_1", "")]),
    "kb.readers.umls.release._RELEASE_IN_PATH": ("findall", [("", "2024A", ""), ("", "20", "")]),
    "linking.name_matcher._ANY_WORD": ("finditer", [("", "a", "/"), ("", "a/", "")]),
    "encoders.segments._SENTENCE_END": ("finditer", [("a.", " ", "a"), ("", ". ", "a"), ("a.", "\n", "a")]),
    "encoders.compression.LAYER": ("match", [("", "layer.1", ""), ("layer.", "1", ""), ("", "layer", "")]),
    "retrieval.phrases._CONNECTOR": ("search", [("", "an ", "")]),
    "retrieval.phrases._WORD": ("finditer", [("", "a", ""), ("", "a ", ""), ("", "_", "")]),
    "text.abbreviations._SEPARATOR": ("finditer", [("", ", ", ""), (",", " ", "a"), ("", ",", "")]),
    "text.abbreviations._WORD": ("search", [("", "aaa ", "")]),
    "text.abbreviations._STATISTIC_OR_LABEL": ("match", [("", "a", ""), ("", "1", "!")]),
    "text.abbreviations._WORD_OR_SIGN": ("finditer", [("", "a", "!"), ("", "!", "")]),
    "text.abbreviations._FOLLOWING_WORD": ("match", [("", " ", "!"), (" ", "a", "!")]),
    "text.abbreviations._LAST_WORD_BEFORE": ("search", [("", "a", "!"), ("", "a ", "!"), ("a", " ", "!")]),
    "text.abbreviations._FIRST_WORD": ("match", [("", "a", "!")]),
    "text.abbreviations._LAST_WORD": ("search", [("", "a", "!"), ("", "a ", "")]),
    "text.abbreviations._OPENING": ("fullmatch", [("", " ", "a"), ("(", " ", "a")]),
    "text.abbreviations._REST_OF_BRACKET": ("match", [("", "a", "("), ("", "a", "")]),
    "text.formulas._ION": ("fullmatch", [("Ca", "+", "x"), ("Ca(", "2", "x"), ("", "Ca", "+")]),
    "text.formulas._ISOTOPE": ("fullmatch", [("", "1", "I"), ("(99m", ")", "Tc")]),
    "text.formulas._SPACE_BEFORE_CHARGE": ("sub", [("", " ", "+"), ("", " +", ""), (" ", "+", "x")]),
    "text.formulas._SYMBOL": ("fullmatch", [("", "Ca", "x"), ("Fe(", "I", "x")]),
    "text.formulas._SALT": ("fullmatch", [("", "Ca", "Cl"), ("Na", "2", "Cl"), ("Ca(", "OH", "x")]),
    "text.formulas._AMINO_ACID": ("fullmatch", [("", "L-", "x"), ("", "Ala", "x")]),
    "text.composites._RUN_END": ("search", [("", "a", "!"), ("", "a!", "")]),
    "text.composites._RUN_START": ("match", [("", "a", "!")]),
    "text.composites._BARE_LOCANT": ("fullmatch", [("", "1", "x"), ("1", "'", "x")]),
    "text.composites._LOCANT": ("match", [("", "1", "x"), ("1", "'", "x")]),
    "text.composites._OPEN_END": ("sub", [("a", "-", "b"), ("", "a-", "b")]),
    "text.composites._OPEN_START": ("sub", [("", "-", ""), ("", "-a", "")]),
    "text.composites._INNER_HYPHEN": ("finditer", [("", "a-", ""), ("", "-", "")]),
    "text.long_forms._WORD": ("finditer", [("", "a", " "), ("", "a ", "")]),
    "text.long_forms._ALPHANUMERICS": ("finditer", [("", "a", "!"), ("", "a!", "")]),
    "text.long_forms._BEFORE_LONG_FORM": ("finditer", [("", "-", "a"), ("", "anti", "-"), ("", " anti-", "")]),
    "text.long_forms._ANTIBODY": ("search", [("", "anti", ""), ("", "antibo", "")]),
    "text.greek._RUN": ("sub", [("", "α", "x"), ("", "α\u0301", ""), ("", "αx", "")]),
    "kb.readers.context._ENTITY": ("sub", [("", "&a", ""), ("&", "a", ""), ("", "&#1", ""), ("", "&amp;", "")]),
    "text.normalize._PUNCTUATION": ("sub", [("", " !", "a"), ("", "a!", "")]),
    "text.normalize._BRITISH": ("sub", [("", "leuco", "vorin"), ("", "oe", "")]),
    "text.spelling._WORD": ("finditer", [("", "a", "!"), ("", "a!", "")]),
    "text.words._BREAK": ("search", [("", "\n", "a"), ("\n", "\t", "a"), ("", "\na", "")]),
}


def _module(name: str):
    return importlib.import_module(f"spacy_sapbert.{name}")


def _guess(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "corpus"
        path.write_text(text)
        with suppress(SapbertError):
            _module("documents.reader").guess_format(path)


def _read_vocabulary(name: str, text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text)
        readers = _module("kb.readers")
        list(readers.read_vocabulary(path, report=readers.ReadReport()))


def _read_mmi(text: str) -> None:
    source = _module("documents.source")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "1.mmi"
        path.write_text(text)
        list(_module("augmentation.metamap").read_mmi(source.Source(path)))


def _read_rdf(text: str) -> None:
    readers = _module("kb.readers")
    with TemporaryDirectory() as folder, suppress(SapbertError):
        path = Path(folder) / "f.owl"
        path.write_text(text)
        list(readers.read_vocabulary(path, report=readers.ReadReport()))


def _nodes(n: int) -> str:
    nodes = ",\n".join(f'{{"id": "F_{row}", "type": "CLASS", "lbl": 1}}' for row in range(n // 40))
    return f'{{"graphs": [{{"nodes": [\n{nodes}]}}]}}'


@cache
def _blank() -> Language:
    return spacy.blank("en")


@cache
def _component(name: str) -> Callable[[Doc], Doc]:
    return _blank().add_pipe(name)


@cache
def _tokenizer() -> Callable[[str], Doc]:
    return _module("pipeline.tokenizer").make_biomedical_tokenizer()(_blank())


def _doc(again: str, n: int) -> Doc:
    words = re.findall(r"\w+|\W", again) * max(1, n // len(again))
    return Doc(_blank().vocab, words=words, spaces=[False] * len(words))


def _species_of_genes(n: int) -> None:
    module = _module("text.gene_species")
    genes = [module.GeneMention(10 * place + 5, 10 * place + 8, "lep") for place in range(n)]
    species = [module.SpeciesMention(10 * place, 10 * place + 4, module.HUMAN) for place in range(n)]
    module.species_of_genes("mice Lep. " * n, genes, species, range(0, 10 * n, 10))


def _mention(doc: Doc) -> Doc:
    last = max((token.i + 1 for token in doc[-2:] if not token.is_space), default=0)
    doc.ents = [Span(doc, 0, last, label="X")] if last else []
    return doc


# The patterns that are made or called in functions, and readers as a whole; each is given a number of characters.
FUNCTIONS: dict[str, Callable[[int], object]] = {
    "documents.reader.guess_format": lambda n: _guess("\r" * n + "a"),
    "documents.reader.guess_format, a line without a tab": lambda n: _guess("a long mention\tid\n" * (n // 18) + "x"),
    "documents.mention_tables.find_term": lambda n: list(
        _module("documents.mention_tables").find_term("!" * (n // 2) + "a", "!" * n)
    ),
    "kb.ids.canonical_id": lambda n: [
        _module("kb.ids").canonical_id(text * (n // len(text))) for text in ("mesh:", "hgnc:", "a:", " :", ":")
    ],
    "kb.prefixes.Prefixes.of_address": lambda n: [
        _module("kb.readers.ontology").curie("http://omim.org/entry/" + sign * n) for sign in "/_1="
    ],
    "metrics.abbreviations._words": lambda n: _module("metrics.abbreviations")._words("a!" * (n // 2), frozenset()),
    "evaluation.abbreviations._why_missed": lambda n: _module("evaluation.abbreviations")._why_missed(
        "(" * (n // 2) + "a", "a", "(" * n + "a"
    ),
    "kb.readers.babelon._last_part": lambda n: _module("kb.readers.babelon")._last_part(":" * n),
    "kb.readers.obograph._property_values": lambda n: _module("kb.readers.obograph")._property_values(
        {"basicPropertyValues": [{"pred": "#IAO" * (n // 4) + "x"}]}, "IAO"
    ),
    "kb.readers.obograph.read_obograph": lambda n: _read_vocabulary("f.json", _nodes(n)),
    "files.values._DIGITS": lambda n: _module("files.values")._DIGITS.findall("1" * n + "x"),
    "kb.readers.obo.read_obo": lambda n: _read_vocabulary("f.obo", "[Term]\nname: " + "abc\\\n" * (n // 5)),
    "kb.readers.obo.read_obo, blanks in a name": lambda n: _read_vocabulary(
        "f.obo", "[Term]\nid: F:1\nname: a" + " " * n + "b\n"
    ),
    "kb.readers.obo.read_obo, blanks in a synonym": lambda n: _read_vocabulary(
        "f.obo", '[Term]\nid: F:1\nname: a\nsynonym: "a"' + " " * n + "EXACT" + " " * n + '"\n'
    ),
    "kb.readers.obo.read_obo, faulty lines": lambda n: _read_vocabulary(
        "f.obo", "[Term]\nid: F:1\nname: a\n" + "synonym: a\nno tag\n" * (n // 18)
    ),
    "kb.readers.rdf._syntax": lambda n: _read_rdf("<?xml" + "<a" * (n // 2)),
    "kb.readers.rdf.read_rdf": lambda n: _read_rdf(
        "<http://e.org/F_1> a <http://www.w3.org/2002/07/owl#Class> .\n" * (n // 61)
        + "".join(
            f"<http://e.org/F_{row}> <http://www.w3.org/2000/01/rdf-schema#label> <x:y> .\n" for row in range(n // 70)
        )
    ),
    "kb.readers.umls.release._RELEASE_NAME": lambda n: _module("kb.readers.umls.files")._RELEASE_NAME.search(
        b"umls.release.name" * (n // 17)
    ),
    "augmentation.metamap.read_mmi": lambda n: _read_mmi("1|MMI|1|a" + "|C0000001|[a]" * (n // 13) + "|1/1|/"),
    "augmentation.exclusion.EvaluationSets": lambda n: _module("augmentation.exclusion").EvaluationSets(
        [_module("types").Document("1", "A. " * (n // 3))]
    ),
    "outputs.addresses._BARE": lambda n: _module("outputs.addresses").concept_url("C" + "1" * n),
    "pipeline.linked_occurrences._has_word": lambda n: _module("pipeline.linked_occurrences")._has_word(
        "A-" * (n // 2), "A-" * 15 + "B"
    ),
    "text.composites._split_slashes": lambda n: _module("text.composites")._split_slashes(
        "a" * (n // 2) + "!/" + "a" * (n // 2), _module("text.languages").ENGLISH.composites
    ),
    "text.gene_species.species_of_genes": lambda n: _species_of_genes(n // 20),
    "text.joint_forms.find_joint_forms": lambda n: _module("text.joint_forms").find_joint_forms(
        "AA", "a " * (n // 2), 0.9
    ),
    "linking.name_matcher.of": lambda n: _call_connectors(n),
    "text.languages.de._ADJECTIVE": lambda n: _module("text.languages.de")._ADJECTIVE.fullmatch("al" * (n // 2) + "x"),
    "text.languages.de._SOFT_C": lambda n: _module("text.languages.de")._SOFT_C.sub("", "c" * n),
    "text.languages.de._HARD_C": lambda n: _module("text.languages.de")._HARD_C.sub("", "ch" * (n // 2)),
    "text.languages.fr._FINAL": lambda n: _module("text.languages.fr")._FINAL.split("é" * n, maxsplit=1),
    **{
        f"text.words.word_columns, {code}": lambda n, code=code: _module("text.words").word_columns(
            "l'éitis" * (n // 7), _module("text.languages").rules_of(code)
        )
        for code in ("de", "en", "es", "fr")
    },
    **{f"text.languages.{code}": lambda n, code=code: _call_rules(code, n) for code in ("de", "en", "es", "fr")},
    **{
        f"pipeline.abbreviation_resolver {again!r}": lambda n, again=again: _component("abbreviation_resolver")(
            _doc(again, n)
        )
        for again in ("heart attack (HA) ", "HA (heart attack) ", "(a) x (b) y ", "CANCER (C) OF ")
    },
    "pipeline.abbreviation_resolver, other definitions": lambda n: _component("abbreviation_resolver")(
        _doc("".join(f"heart attack{row} (HA{row}) " for row in range(n // 44)), 1)
    ),
    **{
        f"pipeline.concept_matcher {again!r}": lambda n, again=again: _component("concept_matcher")(_doc(again, n // 4))
        for again in ("cancer and ", "lung-cancer-", "breast cancer (BC) ", "a1l|!.,")
    },
    **{
        f"pipeline.composite_splitter and sapbert_linker {again!r}": lambda n, again=again: _component(
            "sapbert_linker"
        )(_component("composite_splitter")(_mention(_doc(again, n // 8))))
        for again in ("cancer and ", "(", "a/b/", "heart attack (HA) ", "β-α")
    },
    **{
        f"pipeline.tokenizer.BoundedTokenizer {again!r}": lambda n, again=again: _tokenizer()(again * (n // len(again)))
        for again in ("(", '"', "([)]", "\N{GRINNING FACE}", "http://a.b/", "a")
    },
    "text.long_forms._strategies": lambda n: _module("text.long_forms").find_long_form(
        "A" * 30 + "!s", "as " * (n // 3), 0.9
    ),
}

# Patterns for constants of the package, for settings of a program, and for what a library says.
NOT_OF_USERS = {
    "vectors.faiss_index.index_kind",
    "vectors.faiss_index.file_name",
    "vectors.faiss_index._faiss_message",
    # made of the words of a language, and measured with its rules
    *(f"text.languages.{code}._COMPOSITES" for code in ("de", "en", "es", "fr")),
    "text.languages.en._WORDS",
    *(
        f"text.languages.rules.{builder}"
        for builder in ("words_with_marks", "elided_words", "sentence_end", "spelled", "joint_short_forms", "joint")
    ),
    "text.long_forms._parse_table",
}


# The patterns of a language by the method that is called, and worst inputs of all of them.
OF_LANGUAGES = {
    "words": {"pattern": "split"},
    "abbreviations": {"sentence_end": "finditer", "joint_short_forms": "fullmatch", "joint": "search"},
    "composites": {
        "classifier": "fullmatch",
        "prefix": "match",
        "combining_form": "match",
        "head": "search",
        "conditions": "fullmatch",
        "adjectives": "fullmatch",
        "numerals": "fullmatch",
        "elided": "finditer",
    },
}
WORST = [
    *(
        ("", again, "!")
        for again in ("a", "a's", "a\u0301", "l'", "d'a ", "AA/", "AA , and ", "AA, y ", "o", "itis", "al")
    ),
    *(("", again, "x") for again in ("krebs", "tumor", "hyper", "typen", "aa.'", "A", "A1", "A-1", "I")),
    *[("aa.", " ", "a"), ("aa. ", "(", ""), ("\n", " ", "a"), ("AA", " ", "!"), ("AA,", " ", "!"), ("A", "-", "!")],
]


def _call_rules(code: str, n: int) -> None:
    rules = _module("text.languages").rules_of(code)
    texts = [first + again * (n // 8 // len(again)) + last for first, again, last in WORST]
    for part, methods in OF_LANGUAGES.items():
        for field, method in methods.items():
            if pattern := getattr(getattr(rules, part), field):
                for text in texts:
                    done = getattr(pattern, method)(text)
                    list(done if method == "finditer" else ())
    for pattern in rules.abbreviations.spelled.values():
        for text in ("one two " * (n // 8), "a" * n):
            for _ in pattern.finditer(text):
                pass


def _call_connectors(n: int) -> None:
    for code in ("de", "en", "es", "fr"):
        connectors = _module("linking.name_matcher")._Connectors.of(_module("text.languages").rules_of(code))
        for first, again, last in [
            ("", "a ", "x"), ("", "a and ", "x"), ("", "a y ", "x"), ("a and", " ", "x"), ("", "a", "!"),
            ("", " ", "x"), (" and", " ", ""), (" and ", "a", ""), (" and ", "a ", "/"), (" und ", "a ", "/"),
        ]:  # fmt: skip
            text = first + again * (n // 4 // len(again)) + last
            connectors.before.search(text)
            connectors.after.match(text)


def _call(name: str, text: str) -> None:
    module, _, attribute = name.rpartition(".")
    method = PATTERNS[name][0]
    pattern = getattr(_module(module), attribute)
    given = text.encode() if isinstance(pattern.pattern, bytes) else text
    done = getattr(pattern, method)(*(("", given) if method in ("sub", "subn") else (given,)))
    if method == "finditer":
        for _ in done:
            pass


def _cases() -> dict[str, Callable[[int], object]]:
    cases: dict[str, Callable[[int], object]] = dict(FUNCTIONS)
    for name, (_, inputs) in PATTERNS.items():
        for first, again, last in inputs:
            cases[f"{name} {first!r} {again!r} {last!r}"] = lambda n, name=name, parts=(first, again, last): _call(
                name, parts[0] + parts[1] * (n // len(parts[1])) + parts[2]
            )
    return cases


def _seconds(case: Callable[[int], object], n: int) -> float:
    started = time.process_time()
    case(n)
    return time.process_time() - started


def measure() -> None:
    for name, case in _cases().items():
        case(100)  # imports, and what is kept
        _tell([name])
        times = [min(_seconds(case, n) for _ in range(2)) for n in (SMALL, LARGE)]
        _tell([name, *times])


def _tell(line: list[object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def calls_of_re(node: ast.AST, place: str) -> Iterator[str]:
    """YIELDS (str): module, and global name or function, of each call of a function of `re`."""
    for child in ast.iter_child_nodes(node):
        inner = place
        if isinstance(child, ast.FunctionDef):
            inner = f"{place}.{child.name}"
        elif isinstance(child, (ast.Assign, ast.AnnAssign)) and isinstance(node, ast.Module):
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            inner = f"{place}.{ast.unparse(target)}"
        elif isinstance(child, ast.Call):
            module, _, name = ast.unparse(child.func).partition(".")
            if module == "re" and name != "escape":
                yield place
        yield from calls_of_re(child, inner)


def test_every_regular_expression_is_measured():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found.update(calls_of_re(ast.parse(path.read_text(encoding="utf-8")), module))
    known = {*PATTERNS, *FUNCTIONS, *NOT_OF_USERS}
    assert found - known == set(), "give them worst inputs in this file"
    assert set(PATTERNS) | NOT_OF_USERS <= found


@pytest.fixture(scope="module")
def measured() -> dict[str, list[float]]:
    """The times of each case; one that did not end has none."""
    try:
        done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0, done.stderr
        told, said = done.stdout, done.stderr
    except subprocess.TimeoutExpired as stopped:
        told, said = (stopped.stdout or b"").decode(), "it was stopped"
    assert told, said
    return {name: times for name, *times in map(json.loads, told.splitlines())}


def test_all_cases_end(measured):
    assert [name for name, times in measured.items() if not times] == []


def test_time_grows_with_the_length_of_the_text(measured):
    tell = {name: times for name, times in measured.items() if times}
    slow = {name: times for name, times in tell.items() if times[1] > max(GROWTH * times[0], FLOOR)}
    assert slow == {}


if __name__ == "__main__":
    measure()
