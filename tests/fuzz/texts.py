"""Random texts for the rules that read texts, and for whole pipelines with every output."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

from spacy_sapbert.documents.formats import InputFormat, OutputFormat
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, fault, read_documents
from spacy_sapbert.outputs.html import render_page
from spacy_sapbert.outputs.records import record_of
from spacy_sapbert.outputs.writers import write_records
from spacy_sapbert.runs.pipelines import LinkingPipeline
from spacy_sapbert.text.abbreviations import expand, find_definitions, find_occurrences
from spacy_sapbert.text.composites import composite_splits
from spacy_sapbert.text.formulas import formula_name
from spacy_sapbert.text.gene_species import GeneMention, SpeciesMention, species_of_genes
from spacy_sapbert.text.greek import spell_out_greek
from spacy_sapbert.text.hashing import hash64
from spacy_sapbert.text.languages import LANGUAGES, rules_of
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS
from spacy_sapbert.text.spelling import CorrectionList, KnownWords
from spacy_sapbert.text.words import is_acronym, word_columns, word_keys, words
from spacy_sapbert.types import Document

from .mutation import LONGEST_TEXT, random_text
from .running import Files, Target
from .seeds import WORDS


def new_text(files: Files, random: Random) -> Files:
    """Return a text of random characters and of words that the rules know. Half of them are put into the given text."""
    text = random_text(random, WORDS)
    if random.random() < 0.5:
        old = decoded(files["a.txt"])
        start = random.randint(0, len(old))
        text = old[:start] + text + old[start + random.choice((0, 1, 5, len(text))) :]
    return {"a.txt": text[:LONGEST_TEXT].encode("utf-8", "surrogatepass")}


def decoded(content: bytes) -> str:
    """Return the text of a file. It may have halves of surrogate pairs."""
    return content.decode("utf-8", "surrogatepass")


def text_of(folder: Path) -> str:
    """Return the text of an input."""
    return decoded((folder / "a.txt").read_bytes())


def use_abbreviations(text: str) -> None:
    for language in LANGUAGES:
        rules = rules_of(language)
        definitions = find_definitions(text, rules=rules)
        occurrences = find_occurrences(text, definitions)
        for one in occurrences:
            assert 0 <= one.start <= one.end <= len(text)
        expand(text, 0, len(text), occurrences, rules)


def use_composites(text: str) -> None:
    for language in LANGUAGES:
        for parts in composite_splits(text, rules=rules_of(language)):
            assert all(part.strip() for part in parts)


def use_words(text: str) -> None:
    for language in LANGUAGES:
        rules = rules_of(language)
        found = words(text, rules)
        assert all(0 <= word.start <= word.end <= len(text) for word in found)
        word_columns(text, rules)
        word_keys(text, rules)
    is_acronym(text)


def use_normal_forms(text: str) -> None:
    for normalize in TEXT_NORMALIZERS.values():
        assert isinstance(normalize(text), str)
    formula_name(text)
    spell_out_greek(text)
    hash64(text)


def use_spelling(text: str) -> None:
    listed, known = correctors()
    listed(text)
    known(text)


@cache
def correctors() -> tuple[CorrectionList, KnownWords]:
    return CorrectionList({"fevre": "fever", "œdema": "edema"}), KnownWords.of_names(WORDS)


def use_tokenizers(text: str) -> None:
    for nlp in pipelines()[1:]:
        if text:
            assert nlp.make_doc(text).text == text


@cache
def pipelines() -> tuple[Any, Any, Any]:
    """Return the pipeline of `demo` with more components, and two with tokenizers of their own."""
    import spacy

    from spacy_sapbert.pipeline.demo import demo_pipeline
    from spacy_sapbert.pipeline.tokenizer import BoundedTokenizer

    nlp = demo_pipeline()
    nlp.add_pipe("repeated_mentions", before="sapbert_linker")
    nlp.add_pipe("assertion_detector")
    tokenizing = {"nlp": {"tokenizer": {"@tokenizers": "spacy-sapbert.BiomedicalTokenizer.v1"}}}
    bounded = spacy.blank("en")
    bounded.tokenizer = BoundedTokenizer.like(bounded.tokenizer)
    return nlp, spacy.blank("en", config=tokenizing), bounded


def is_left_out(text: str) -> bool:
    """Return whether `link` leaves a text out."""
    return bool(fault(text, 1 << 20)) or any("\ud800" <= sign <= "\udfff" for sign in text)


def use_pipeline(text: str) -> None:
    """Link a text, write every output, and read those that can be read."""
    if is_left_out(text):
        return
    shown = io.StringIO()
    problems = Problems(Console(file=shown, markup=False, soft_wrap=True))
    nlp = pipelines()[0]
    linking = LinkingPipeline(nlp, problems)
    document = Document(text[:9].strip() or "1", text, position="here", meta={"a": text[:20]})
    records = [record_of(item, linking.kb) for item in linking([document], short_lived=True)]
    assert len(records) == 1, shown.getvalue()
    (record,) = records
    assert json.loads(json.dumps(record)) == record
    for entity in record["entities"]:
        assert record["text"][entity["start"] : entity["end"]] == entity["text"]


def use_outputs(folder: Path) -> None:
    """Link a text, write it in every format, and read what was written."""
    text = text_of(folder)
    use_pipeline(text)
    if is_left_out(text):
        return
    nlp = pipelines()[0]
    linking = LinkingPipeline(nlp, Problems(Console(file=io.StringIO())))
    document = Document("1", text, position="here", meta={"a": text[:20]})
    records = [record_of(item, linking.kb) for item in linking([document])]
    for format, ending in ENDINGS.items():
        path = folder / f"out{ending}"
        write_records(records, format, path)
        if format in READ_AGAIN:
            problems = Problems(Console(quiet=True), strict=True)
            options = ReadOptions(READ_AGAIN[format], text_column="text" if format is OutputFormat.csv else None)
            (found,) = read_documents(path, options, problems)
            assert len(found.text) == len(text) if format is OutputFormat.bioc else found.text == text
    render_page([nlp(text)], linking.kb, "title")


ENDINGS = {
    OutputFormat.jsonl: ".jsonl",
    OutputFormat.tsv: ".tsv",
    OutputFormat.csv: ".csv",
    OutputFormat.parquet: ".parquet",
    OutputFormat.pubtator: ".pubtator",
    OutputFormat.bioc: ".xml",
    OutputFormat.biocjson: ".json",
    OutputFormat.html: ".html",
}
READ_AGAIN = {
    OutputFormat.jsonl: InputFormat.jsonl,
    OutputFormat.bioc: InputFormat.bioc,
    OutputFormat.biocjson: InputFormat.bioc,
}


def use_genes(text: str) -> None:
    middle = len(text) // 2
    places = [(start, min(len(text), start + 4)) for start in (0, middle) if start < len(text)]
    genes = [GeneMention(start, end, text[start:end]) for start, end in places]
    species = [SpeciesMention(start, end, "NCBITaxon:10090") for start, end in places]
    species_of_genes(text, genes, species, [0, middle])


def targets() -> Iterator[Target]:
    """Yield the targets that read texts."""
    seeds = [{"a.txt": text.encode()} for text in ("A cold (AC).", "breast and ovarian cancer", "")]
    rules: dict[str, tuple[Callable[[str], None], float]] = {
        "abbreviations": (use_abbreviations, 1),
        "composites": (use_composites, 1),
        "words": (use_words, 1),
        "normal forms": (use_normal_forms, 2),
        "spelling": (use_spelling, 1),
        "gene species": (use_genes, 1),
        "tokenizers": (use_tokenizers, 1),
        "pipeline": (use_pipeline, 0.15),
    }
    for name, (use, share) in rules.items():
        yield Target(f"text:{name}", lambda: seeds, _on_text(use), share, new_text)
    yield Target("text:outputs", lambda: seeds, use_outputs, 0.05, new_text)


def _on_text(use: Callable[[str], None]) -> Callable[[Path], object]:
    return lambda folder: use(text_of(folder))
