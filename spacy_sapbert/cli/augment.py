"""Define `spacy-sapbert augment`, which creates training documents for rare concepts by rule-based annotation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from ..errors import Errors, SapbertError
from ..files.console import show_values, stderr_console, track
from ..files.output import ScratchFolder
from .options import grouped

if TYPE_CHECKING:
    from rich.console import Console

    from ..augmentation.annotations import Annotator
    from ..augmentation.augment import AnnotationFilter, RuleAnnotation, Segment
    from ..augmentation.document_choice import Choice
    from ..augmentation.documents import Tokenize
    from ..augmentation.exclusion import EvaluationSets
    from ..augmentation.id_mapping import IdMapping
    from ..augmentation.search import DocumentSearch
    from ..documents.report import Report
    from ..kb.knowledge_base import KnowledgeBase
    from ..types import Document

_SHOWN_PROBLEMS = 10
_Counts = dict[str, dict[str, int]]


@dataclass(frozen=True)
class ConceptOptions:
    """Options for the concepts to search for."""

    PANEL: ClassVar[str] = "Concepts"

    train: Annotated[
        list[Path] | None, typer.Option(help="Training corpus, which shows the rare concepts. Repeatable.")
    ] = None
    labels: Annotated[
        Path | None, typer.Option(help="File with the concept ids to search and to keep, one per line.")
    ] = None
    k: Annotated[int, typer.Option(min=1, help="Concepts with fewer training documents are rare.")] = 10
    all_: Annotated[bool, typer.Option("--all", help="Search for all concepts, not only for rare ones.")] = False


@dataclass(frozen=True)
class DocumentOptions:
    """Options for the documents to search and to take."""

    PANEL: ClassVar[str] = "Documents"

    documents: Annotated[
        list[Path] | None, typer.Option(help="Documents to search: a .txt or .jsonl file, or a folder. Repeatable.")
    ] = None
    eutils: Annotated[
        str | None, typer.Option(help="Search 'pubmed' or 'pmc' over the network, instead of --documents.")
    ] = None
    exclude: Annotated[
        list[Path] | None, typer.Option(help="Corpus whose documents are left out, such as a test set. Repeatable.")
    ] = None
    max_documents: Annotated[int, typer.Option(min=1, help="Maximum number of documents per concept.")] = 50
    max_tokens: Annotated[int, typer.Option(min=8, help="Maximum number of tokens per segment.")] = 512
    tokenizer: Annotated[
        str | None, typer.Option(help="Count the wordpieces of this encoder. Default: count spaCy tokens.")
    ] = None
    cache: Annotated[
        Path | None, typer.Option(help="Folder for answers. With it, an interrupted run can continue.")
    ] = None
    eutils_url: Annotated[str | None, typer.Option(help="URL of the E-utilities. Default: NCBI.")] = None


@dataclass(frozen=True)
class AnnotationOptions:
    """Options for the annotation of the documents."""

    PANEL: ClassVar[str] = "Annotation"

    metamaplite: Annotated[
        Path | None,
        typer.Option(help="Annotate with the MetaMapLite in this folder. Default: the concept_matcher."),
    ] = None
    texts: Annotated[Path | None, typer.Option(help="Write the segments to this folder as text files, and stop.")] = (
        None
    )
    annotations: Annotated[
        Path | None, typer.Option(help="Folder with the output of MetaMapLite for the files of --texts.")
    ] = None
    mapping: Annotated[
        list[Path] | None,
        typer.Option(
            help="Mapping from the annotator's ids to the vocabulary: SSSOM, or a table of two columns. Repeatable."
        ),
    ] = None
    mapping_kb: Annotated[str | None, typer.Option(help="Knowledge base that maps the ids, such as one of UMLS.")] = (
        None
    )


@dataclass(frozen=True)
class FilterOptions:
    """Options for the filters of annotations, in the order of `_filters`."""

    PANEL: ClassVar[str] = "Filters"

    abbreviation_filter: Annotated[bool, typer.Option(help="Leave out words that only look like an abbreviation.")] = (
        True
    )
    verb_filter: Annotated[bool, typer.Option(help="Leave out names that are verbs in the text: leads to.")] = True
    inversion_filter: Annotated[
        bool, typer.Option(help="Leave out enumerations that only look like an inverted name: Failure, Renal.")
    ] = True
    overlap_filter: Annotated[bool, typer.Option(help="If mentions overlap, keep the more specific one.")] = True


@dataclass(frozen=True)
class SelectionOptions:
    """Options for the filters of documents."""

    PANEL: ClassVar[str] = "Filters"

    diversity_filter: Annotated[bool, typer.Option(help="Prefer documents that were found for few other concepts.")] = (
        True
    )
    relevance_filter: Annotated[bool, typer.Option(help="Leave out documents that lack the concept of the search.")] = (
        True
    )


@dataclass(frozen=True)
class TrainingOptions:
    """Options for the output file."""

    PANEL: ClassVar[str] = "Training file"

    weight: Annotated[float, typer.Option(min=0, help="Weight of each new document in training.")] = 0.3
    with_: Annotated[
        list[Path] | None,
        typer.Option("--with", help="A .spacy file to mix in, with weight 1 for each document. Repeatable."),
    ] = None
    seed: Annotated[int, typer.Option(help="Seed for the order of the documents.")] = 0


@grouped
def augment(
    kb: Annotated[str, typer.Option(help="Knowledge base of the concepts, or 'starter'.")],
    concepts: ConceptOptions,
    documents: DocumentOptions,
    annotation: AnnotationOptions,
    filters: FilterOptions,
    selection: SelectionOptions,
    training: TrainingOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .spacy file to write.")] = None,
) -> None:
    """Create training documents for rare concepts.

    The command searches documents, annotates them by rule, and filters the annotations.
    The method is that of Shao et al. (2024).
    It leaves out the documents of --exclude, --train and --with, by PMID and by title.
    To use a key for the E-utilities, set the environment variable NCBI_API_KEY.
    """
    _check(output, documents, annotation)
    from ..augmentation.exclusion import EvaluationSets
    from ..documents.report import Report
    from ..kb.storage import load_knowledge_base

    console, knowledge_base, report = stderr_console(), load_knowledge_base(kb), Report()
    wanted = _Wanted(knowledge_base, concepts)
    known = [*(documents.exclude or []), *(concepts.train or []), *(training.with_ or [])]
    counts: _Counts = {}
    segments = _find(wanted, documents, EvaluationSets(_read(known)), selection, report, counts, console)
    if annotation.texts:
        counts["segments"]["files"] = _write_texts(segments, annotation.texts)
        show_values(counts)
        return
    with _annotator(knowledge_base, annotation, documents.cache, report) as annotator:
        mapping = _id_mapping(knowledge_base, annotation.mapping, annotation.mapping_kb)
        rules = _annotation(annotator, mapping, _filters(knowledge_base, filters), wanted.labels)
        annotated = list(rules(track(segments, console, "segments", total=len(segments))))
    kept = _kept(annotated, rules, selection.relevance_filter, counts)
    _show_problems(report, console)
    if not kept:
        raise SapbertError(Errors.E604.format(counts=counts))
    assert output is not None
    counts["written"] = _write(kept, rules, knowledge_base, output, training, console)
    show_values(counts)


def _check(output: Path | None, documents: DocumentOptions, annotation: AnnotationOptions) -> None:
    from ..augmentation.eutils import DATABASES

    if output is None and annotation.texts is None:
        raise typer.BadParameter("give the file to write", param_hint="--output")
    if output is not None and output.suffix != ".spacy":
        raise SapbertError(Errors.E212.format(path=output))
    if bool(documents.documents) == bool(documents.eutils):
        raise SapbertError(Errors.E601)
    if documents.eutils and documents.eutils not in DATABASES:
        raise typer.BadParameter(f"give one of {', '.join(DATABASES)}", param_hint="--eutils")
    if annotation.metamaplite and annotation.annotations:
        reason = "--metamaplite runs MetaMapLite, but --annotations gives output that it has already written"
        raise SapbertError(Errors.E533.format(reason=reason))


def _find(
    wanted: _Wanted,
    options: DocumentOptions,
    excluded: EvaluationSets,
    selection: SelectionOptions,
    report: Report,
    counts: _Counts,
    console: Console,
) -> list[Segment]:
    """Return the segments of the documents that were found, and count them."""
    from ..augmentation.augment import segments_of
    from ..augmentation.document_choice import choose

    tokenize = _tokenize(options.tokenizer)
    limit = options.max_tokens - 2 * bool(options.tokenizer)  # [CLS] and [SEP] are wordpieces, too
    with _search(options, excluded, report, console) as search:
        concepts = track(wanted.concepts, console, "concepts", total=len(wanted.concepts))
        choice = choose(concepts, search, excluded, limit=options.max_documents, diverse=selection.diversity_filter)
        counts["concepts"] = wanted.counts(choice)
        counts["documents"] = _document_counts(choice, search, report)
    segments = list(segments_of(choice, tokenize, limit))
    counts["segments"] = {"cut": len(segments)}
    return segments


class _Wanted:
    """The concepts to search for, and those with annotations to keep.

    Raises:
        SapbertError: E602 no option selects concepts. E611 there is no such concept.
    """

    def __init__(self, knowledge_base: KnowledgeBase, options: ConceptOptions) -> None:
        from ..augmentation.rare_concepts import primary_ids, rare_concepts, training_documents
        from ..kb.id_lists import read_labels

        if not (options.train or options.labels or options.all_):
            raise SapbertError(Errors.E602)
        in_training = training_documents(_read(options.train or []), knowledge_base)
        self.labels: list[str] | None = None
        self._unknown = 0
        if options.labels:
            self.labels, self._unknown = primary_ids(read_labels(options.labels), knowledge_base)
        most = None if options.all_ else options.k
        self.concepts = rare_concepts(in_training, self.labels, knowledge_base, most)
        self._unseen = sum(not in_training[concept_id] for concept_id, _ in self.concepts)
        if not self.concepts:
            raise SapbertError(Errors.E611.format(n=len(self.labels or in_training), k=options.k))

    def counts(self, choice: Choice) -> dict[str, int]:
        return {
            "searched": choice.counts["searched"],
            "unseen_in_training": self._unseen,
            "found_nothing": choice.counts["found_nothing"],
            "not_in_vocabulary": self._unknown,
        }


def _read(paths: Sequence[Path]) -> Iterator[Document]:
    from ..documents.reader import read_corpus

    for path in paths:
        yield from read_corpus(path)


def _tokenize(tokenizer: str | None) -> Tokenize:
    from ..augmentation.documents import spacy_tokens, wordpieces

    return wordpieces(tokenizer) if tokenizer else spacy_tokens()


@contextmanager
def _search(
    options: DocumentOptions, excluded: EvaluationSets, report: Report, console: Console
) -> Iterator[DocumentSearch]:
    from ..augmentation.documents import read_folder
    from ..augmentation.eutils import URL, Eutils, EutilsSearch
    from ..augmentation.search import FolderSearch

    if options.eutils:
        yield EutilsSearch(Eutils(options.eutils_url or URL, options.cache), options.eutils)
        return
    with ScratchFolder() as folder:
        found = track(read_folder(options.documents or [], report), console)
        with closing(FolderSearch(folder / "documents.db", found, excluded)) as search:
            yield search


def _document_counts(choice: Choice, search: DocumentSearch, report: Report) -> dict[str, int]:
    counts = search.counts + choice.counts
    names = ("excluded_by_pmid", "excluded_by_title", "passed_over")
    return {
        **{name: counts[name] for name in sorted(search.counts) if name not in names},
        **{name: counts[name] for name in names},
        "broken_records": report.broken,
        "taken": len(choice.documents),
    }


def _write_texts(segments: Sequence[Segment], folder: Path) -> int:
    from ..augmentation.metamaplite import write_texts

    return write_texts([segment.text for segment in segments], folder)


@contextmanager
def _annotator(
    knowledge_base: KnowledgeBase, options: AnnotationOptions, cache: Path | None, report: Report
) -> Iterator[Annotator]:
    from ..augmentation.matching import MatcherAnnotator
    from ..augmentation.metamaplite import MetaMapLite, MetaMapLiteOutput

    with ExitStack() as stack:
        if options.metamaplite:
            work = cache / "metamaplite" if cache else stack.enter_context(ScratchFolder())
            yield MetaMapLite(options.metamaplite, work, report)
        elif options.annotations:
            yield MetaMapLiteOutput(options.annotations, report)
        else:
            yield MatcherAnnotator(knowledge_base)


def _id_mapping(knowledge_base: KnowledgeBase, mappings: Sequence[Path] | None, between: str | None) -> IdMapping:
    from ..augmentation.id_mapping import IdMapping
    from ..kb.mapping import read_mappings
    from ..kb.storage import load_knowledge_base

    return IdMapping(knowledge_base, read_mappings(mappings or []), load_knowledge_base(between) if between else None)


def _filters(knowledge_base: KnowledgeBase, options: FilterOptions) -> dict[str, AnnotationFilter]:
    from ..augmentation.filters import FalseAbbreviations, InvertedNames, Overlaps, Verbs

    filters: dict[str, AnnotationFilter] = {
        "false_abbreviations": FalseAbbreviations(knowledge_base),
        "verbs": Verbs(),
        "inverted_names": InvertedNames(knowledge_base),
        "overlaps": Overlaps(knowledge_base),
    }
    return {name: filter for (name, filter), used in zip(filters.items(), astuple(options), strict=True) if used}


def _annotation(
    annotator: Annotator, mapping: IdMapping, filters: dict[str, AnnotationFilter], labels: list[str] | None
) -> RuleAnnotation:
    from ..augmentation.augment import RuleAnnotation

    return RuleAnnotation(annotator, mapping, filters, labels)


def _kept(annotated: Sequence[Segment], annotation: RuleAnnotation, relevant: bool, counts: _Counts) -> list[Segment]:
    """Return the segments to write, and count the others by reason."""
    from ..augmentation.augment import without_irrelevant

    kept = [segment for segment in annotated if segment.annotations]
    counts["segments"]["without_output"] = annotation.without_answer
    counts["segments"]["without_annotations"] = len(annotated) - len(kept)
    counts["annotations"] = dict(annotation.left)
    if relevant:
        n_before, kept = len(kept), without_irrelevant(kept)
        counts["segments"]["without_the_concept"] = n_before - len(kept)
        counts["annotations"]["relevant"] = sum(len(segment.annotations) for segment in kept)
    return kept


def _show_problems(report: Report, console: Console) -> None:
    for problem in report.problems[:_SHOWN_PROBLEMS]:
        console.print(f"{problem}. This record was left out.")
    if report.broken > _SHOWN_PROBLEMS:
        console.print(f"… and {report.broken - _SHOWN_PROBLEMS:,} more")


def _write(
    segments: Sequence[Segment],
    annotation: RuleAnnotation,
    knowledge_base: KnowledgeBase,
    output: Path,
    options: TrainingOptions,
    console: Console,
) -> dict[str, int]:
    from ..augmentation.augment import TrainingDocs, count_documents, shuffled
    from ..documents.docbin import read_docbin, write_docbin
    from ..pipeline.tokenizer import blank_pipeline

    nlp = blank_pipeline("en")
    manual = [doc for path in options.with_ or [] for doc in read_docbin(path, nlp.vocab)]
    make = TrainingDocs(nlp, knowledge_base, options.weight, annotation)
    docs = shuffled(segments, make, manual, options.seed)
    n_docs = write_docbin(track(docs, console, total=len(segments) + len(manual)), output)
    in_documents = count_documents(segments)
    searched_for = {concept_id for segment in segments for concept_id in segment.concepts}
    return {
        "documents": n_docs,
        "augmented": len(segments),
        "manual": len(manual),
        "concepts": len(in_documents),
        "searched_concepts": len(searched_for & set(in_documents)),
    }
