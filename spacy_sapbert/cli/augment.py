"""`augment`: documents on scarce concepts, annotated by rule, to train on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Errors, SapbertError
from .progress import show_values, stderr_console, track

if TYPE_CHECKING:
    from rich.console import Console

    from ..augmentation.annotations import Annotator
    from ..augmentation.augment import AnnotationFilter, RuleAnnotation, Segment
    from ..augmentation.choice import Choice
    from ..augmentation.documents import Tokenize
    from ..augmentation.exclusion import EvaluationSets
    from ..augmentation.id_mapping import IdMapping
    from ..augmentation.search import DocumentSearch
    from ..corpora.report import Report
    from ..kb.knowledge_base import KnowledgeBase
    from ..types import AnnotatedDocument

_SHOWN_PROBLEMS = 10


def augment(
    kb: Annotated[str, typer.Option(help="A knowledge base, or 'starter': the vocabulary that is trained for.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .spacy file to write.")] = None,
    documents: Annotated[
        list[Path] | None, typer.Option(help="A .txt or .jsonl file, or a folder of them; may be repeated.")
    ] = None,
    eutils: Annotated[str | None, typer.Option(help="Search in 'pubmed' or 'pmc' instead.")] = None,
    train: Annotated[list[Path] | None, typer.Option(help="A training corpus; may be repeated.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Ids of the concepts that matter, one a line.")] = None,
    k: Annotated[int, typer.Option(min=1, help="A concept with fewer training documents is scarce.")] = 10,
    all_: Annotated[bool, typer.Option("--all", help="Search for all concepts, not for the scarce ones only.")] = False,
    exclude: Annotated[
        list[Path] | None, typer.Option(help="A corpus whose documents must not be written; may be repeated.")
    ] = None,
    max_documents: Annotated[int, typer.Option(min=1, help="Documents that are taken for a concept.")] = 50,
    max_tokens: Annotated[int, typer.Option(min=8, help="Tokens of a segment.")] = 512,
    tokenizer: Annotated[
        str | None, typer.Option(help="Count the wordpieces of this encoder; by default the tokens of spaCy.")
    ] = None,
    metamaplite: Annotated[Path | None, typer.Option(help="Annotate with the MetaMapLite in this folder.")] = None,
    texts: Annotated[
        Path | None, typer.Option(help="Write the segments as text files into this folder, and stop.")
    ] = None,
    annotations: Annotated[
        Path | None, typer.Option(help="The folder with what MetaMapLite wrote for the texts of --texts.")
    ] = None,
    mapping: Annotated[
        list[Path] | None, typer.Option(help="Maps ids of the annotator to ours (SSSOM, or two columns); repeatable.")
    ] = None,
    mapping_kb: Annotated[
        str | None, typer.Option(help="A knowledge_base with the ids of both, for example of UMLS.")
    ] = None,
    abbreviation_filter: Annotated[bool, typer.Option(help="Leave out words taken for abbreviations.")] = True,
    verb_filter: Annotated[bool, typer.Option(help="Leave out names that are verbs there (leads to).")] = True,
    inversion_filter: Annotated[
        bool, typer.Option(help="Leave out enumerations taken for an inverted name (Failure, Renal).")
    ] = True,
    overlap_filter: Annotated[bool, typer.Option(help="Of mentions that overlap, keep the more specific.")] = True,
    diversity_filter: Annotated[bool, typer.Option(help="Prefer documents taken for few other concepts.")] = True,
    relevance_filter: Annotated[bool, typer.Option(help="Leave out documents that lack the concept.")] = True,
    weight: Annotated[float, typer.Option(min=0, help="How much a document counts in training.")] = 0.3,
    with_: Annotated[
        list[Path] | None, typer.Option("--with", help="A .spacy file to shuffle in, with weight 1; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the order of the documents.")] = 0,
    cache: Annotated[Path | None, typer.Option(help="The folder where answers are kept, to go on from there.")] = None,
    eutils_url: Annotated[str | None, typer.Option(help="Where the E-utilities are, if not at NCBI.")] = None,
) -> None:
    """Make training documents for scarce concepts: search, annotate by rule, filter (Shao et al. 2024).

    Documents of --exclude, --train and --with are left out, by PMID and by title. A key for the E-utilities is read
    from the environment variable NCBI_API_KEY.
    """
    _check(output, documents, eutils, texts, metamaplite, annotations)
    from ..augmentation.augment import segments_of
    from ..augmentation.choice import choose
    from ..augmentation.exclusion import EvaluationSets
    from ..corpora.report import Report
    from ..kb.storage import load_knowledge_base

    console, knowledge_base, report = stderr_console(), load_knowledge_base(kb), Report()
    wanted = _Wanted(knowledge_base, train or [], labels, None if all_ else k)
    excluded = EvaluationSets(_read([*(exclude or []), *(train or []), *(with_ or [])]))
    tokenize, limit = _tokenize(tokenizer), max_tokens - 2 * bool(tokenizer)  # [CLS] and [SEP] are wordpieces, too
    with _search(documents, eutils, eutils_url, cache, excluded, report, console) as search:
        concepts = track(wanted.concepts, console, "concepts", total=len(wanted.concepts))
        choice = choose(concepts, search, excluded, limit=max_documents, diverse=diversity_filter)
        counts = {"concepts": wanted.counts(choice), "documents": _document_counts(choice, search, report)}
    segments = list(segments_of(choice, tokenize, limit))
    counts["segments"] = {"cut": len(segments)}
    if texts:
        counts["segments"]["files"] = _write_texts(segments, texts)
        show_values(counts)
        return
    with _annotator(knowledge_base, metamaplite, annotations, cache, report) as annotator:
        filters = _filters(knowledge_base, abbreviation_filter, verb_filter, inversion_filter, overlap_filter)
        annotation = _annotation(annotator, _id_mapping(knowledge_base, mapping, mapping_kb), filters, wanted.labels)
        annotated = list(annotation(track(segments, console, "segments", total=len(segments))))
    kept = _kept(annotated, annotation, relevance_filter, counts)
    _tell_problems(report, console)
    if not kept:
        raise SapbertError(Errors.E604.format(counts=counts))
    assert output is not None
    counts["written"] = _write(kept, annotation, knowledge_base, output, weight, with_ or [], seed, console)
    show_values(counts)


def _check(
    output: Path | None,
    documents: Sequence[Path] | None,
    eutils: str | None,
    texts: Path | None,
    metamaplite: Path | None,
    annotations: Path | None,
) -> None:
    from ..augmentation.eutils import DATABASES

    if output is None and texts is None:
        raise typer.BadParameter("say where to write to", param_hint="--output")
    if output is not None and output.suffix != ".spacy":
        raise SapbertError(Errors.E212.format(path=output))
    if bool(documents) == bool(eutils):
        raise SapbertError(Errors.E601)
    if eutils and eutils not in DATABASES:
        raise typer.BadParameter(f"one of {', '.join(DATABASES)}", param_hint="--eutils")
    if metamaplite and annotations:
        raise SapbertError(Errors.E533.format(reason="--metamaplite runs what has written the files of --annotations"))


class _Wanted:
    """The concepts that are searched for, and those whose annotations are kept.

    RAISES (SapbertError): E602 nothing says which, E611 there is none.
    """

    def __init__(
        self, knowledge_base: KnowledgeBase, train: Sequence[Path], labels: Path | None, k: int | None
    ) -> None:
        from ..augmentation.rare import primary_ids, rare_concepts, training_documents
        from ..kb.labels import read_labels

        if not train and not labels and k is not None:
            raise SapbertError(Errors.E602)
        in_training = training_documents(_read(train), knowledge_base)
        self.labels: list[str] | None = None
        self._unknown = 0
        if labels:
            self.labels, self._unknown = primary_ids(read_labels(labels), knowledge_base)
        self.concepts = rare_concepts(in_training, self.labels, knowledge_base, k)
        self._unseen = sum(not in_training[concept_id] for concept_id, _ in self.concepts)
        if not self.concepts:
            raise SapbertError(Errors.E611.format(n=len(self.labels or in_training), k=k))

    def counts(self, choice: Choice) -> dict[str, int]:
        return {
            "searched": choice.counts["searched"],
            "unseen_in_training": self._unseen,
            "found_nothing": choice.counts["found_nothing"],
            "not_in_vocabulary": self._unknown,
        }


def _read(paths: Sequence[Path]) -> Iterator[AnnotatedDocument]:
    from ..corpora.reader import read_corpus

    for path in paths:
        yield from read_corpus(path)


def _tokenize(tokenizer: str | None) -> Tokenize:
    from ..augmentation.documents import spacy_tokens, wordpieces

    return wordpieces(tokenizer) if tokenizer else spacy_tokens()


@contextmanager
def _search(
    documents: Sequence[Path] | None,
    database: str | None,
    url: str | None,
    cache: Path | None,
    excluded: EvaluationSets,
    report: Report,
    console: Console,
) -> Iterator[DocumentSearch]:
    from ..augmentation.documents import read_folder
    from ..augmentation.eutils import URL, Eutils, EutilsSearch
    from ..augmentation.search import FolderSearch

    if database:
        yield EutilsSearch(Eutils(url or URL, cache), database)
        return
    with TemporaryDirectory() as folder:
        found = track(read_folder(documents or [], report), console)
        with closing(FolderSearch(Path(folder) / "documents.db", found, excluded)) as search:
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
    knowledge_base: KnowledgeBase,
    metamaplite: Path | None,
    annotations: Path | None,
    cache: Path | None,
    report: Report,
) -> Iterator[Annotator]:
    from ..augmentation.matching import MatcherAnnotator
    from ..augmentation.metamaplite import MetaMapLite, MetaMapLiteOutput

    with ExitStack() as stack:
        if metamaplite:
            work = cache / "metamaplite" if cache else Path(stack.enter_context(TemporaryDirectory()))
            yield MetaMapLite(metamaplite, work, report)
        elif annotations:
            yield MetaMapLiteOutput(annotations, report)
        else:
            yield MatcherAnnotator(knowledge_base)


def _id_mapping(knowledge_base: KnowledgeBase, mappings: Sequence[Path] | None, between: str | None) -> IdMapping:
    from ..augmentation.id_mapping import IdMapping
    from ..kb.mapping import read_mappings
    from ..kb.storage import load_knowledge_base

    return IdMapping(knowledge_base, read_mappings(mappings or []), load_knowledge_base(between) if between else None)


def _filters(knowledge_base: KnowledgeBase, *chosen: bool) -> dict[str, AnnotationFilter]:
    from ..augmentation.filters import FalseAbbreviations, InvertedNames, Overlaps, Verbs

    filters: dict[str, AnnotationFilter] = {
        "false_abbreviations": FalseAbbreviations(knowledge_base),
        "verbs": Verbs(),
        "inverted_names": InvertedNames(knowledge_base),
        "overlaps": Overlaps(knowledge_base),
    }
    return {name: filter for (name, filter), used in zip(filters.items(), chosen, strict=True) if used}


def _annotation(
    annotator: Annotator, mapping: IdMapping, filters: dict[str, AnnotationFilter], labels: list[str] | None
) -> RuleAnnotation:
    from ..augmentation.augment import RuleAnnotation

    return RuleAnnotation(annotator, mapping, filters, labels)


def _kept(
    annotated: Sequence[Segment], annotation: RuleAnnotation, relevant: bool, counts: dict[str, dict[str, int]]
) -> list[Segment]:
    """RETURNS (list[Segment]): those that are written; what becomes of the others is counted."""
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


def _tell_problems(report: Report, console: Console) -> None:
    for path, line, reason in report.problems[:_SHOWN_PROBLEMS]:
        console.print(f"{path}, line {line}: {reason}; left out")
    if report.broken > _SHOWN_PROBLEMS:
        console.print(f"… and {report.broken - _SHOWN_PROBLEMS:,} more")


def _write(
    segments: Sequence[Segment],
    annotation: RuleAnnotation,
    knowledge_base: KnowledgeBase,
    output: Path,
    weight: float,
    with_: Sequence[Path],
    seed: int,
    console: Console,
) -> dict[str, int]:
    import spacy

    from ..augmentation.augment import TrainingDocs, count_documents, shuffled
    from ..corpora.docbin import read_docbin, write_docbin

    nlp = spacy.blank("en")
    manual = [doc for path in with_ for doc in read_docbin(path, nlp.vocab)]
    make = TrainingDocs(nlp, knowledge_base, weight, annotation)
    docs = shuffled(segments, make, manual, seed)
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
