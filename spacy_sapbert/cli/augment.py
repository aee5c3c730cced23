"""Define `spacy-sapbert augment`, which creates training documents for rare concepts by rule-based annotation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..documents.input_documents import Problems, read_all, sound
from ..errors import Errors, OptionError, SapbertError
from ..files.console import show_values, stderr_console, track
from ..files.output import ScratchFolder, refuse_input
from .configs import resolve
from .inputs import open_inputs

if TYPE_CHECKING:
    from rich.console import Console

    from ..augmentation.annotations import Annotator, IdMapping
    from ..augmentation.augment import AnnotationFilter, RuleAnnotation, Segment
    from ..augmentation.documents import EvaluationSets
    from ..augmentation.search import Choice, DocumentSearch
    from ..augmentation.settings import AugmentationSettings
    from ..kb.knowledge_base import KnowledgeBase
    from ..types import Document

_Counts = dict[str, dict[str, int]]


def augment(
    ctx: typer.Context,
    config: Annotated[Path, typer.Argument(help="Config file, such as one that `init config augment` writes.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .spacy file to write.")] = None,
    texts: Annotated[
        Path | None, typer.Option(help="Write the segments to this folder as text files, and stop.")
    ] = None,
) -> None:
    """Create training documents for rare concepts.

    The command searches documents, annotates them by rule, and filters the annotations.
    The method is that of Shao et al. (2024).
    To override a setting of the config, give it as --augment.documents abstracts.
    It leaves out the documents of the settings exclude, train and mix_with, by PMID and by title.
    To use a key for the E-utilities, set the environment variable NCBI_API_KEY.
    """
    _, settings = resolve(ctx, config, "augment")
    from ..augmentation.documents import EvaluationSets
    from ..augmentation.settings import paths
    from ..kb.storage import load_knowledge_base

    known = [path for files in (settings.exclude, settings.train, settings.mix_with) for path in paths(files)]
    _check_output(output, texts, [*known, *paths(settings.documents)])
    console, kb = stderr_console(), load_knowledge_base(settings.kb)
    problems = Problems(console)
    concepts = _Concepts(kb, settings)
    counts: _Counts = {}
    segments = _find(concepts, settings, EvaluationSets(_read(known)), problems, counts)
    if texts:
        from ..augmentation.metamaplite import write_texts

        counts["segments"]["files"] = write_texts([segment.text for segment in segments], texts)
        show_values(counts)
        return
    with _annotator(kb, settings, problems) as annotator:
        rules = _annotation(annotator, kb, settings, concepts.labels)
        annotated = list(rules(track(segments, console, "segments", total=len(segments))))
    relevant = _relevant(annotated, rules, settings, counts)
    if not relevant:
        raise SapbertError(Errors.E604.format(counts=counts))
    assert output is not None
    counts["written"] = _write(relevant, rules, kb, output, settings, console)
    show_values(counts)


def _check_output(output: Path | None, texts: Path | None, inputs: Sequence[Path]) -> None:
    if output is None and texts is None:
        raise typer.BadParameter("give the file to write", param_hint="--output")
    if output is not None and output.suffix != ".spacy":
        reason = "`spacy train` reads only files that end in .spacy"
        raise OptionError(option=f"The output {output}", reason=reason, remedy="Change the name.")
    if output is not None:
        refuse_input(output, inputs)


class _Concepts:
    """The concepts to search for, and those with annotations to keep."""

    def __init__(self, kb: KnowledgeBase, settings: AugmentationSettings) -> None:
        from ..augmentation.search import primary_ids, rare_concepts, training_documents
        from ..augmentation.settings import paths
        from ..kb.ids import read_labels

        in_training = training_documents(_read(paths(settings.train)), kb)
        self.labels: list[str] | None = None
        self._unknown = 0
        if settings.labels:
            self.labels, self._unknown = primary_ids(read_labels(Path(settings.labels)), kb)
        most = None if settings.all_concepts else settings.k
        self.concepts = rare_concepts(in_training, self.labels, kb, most)
        self._unseen = sum(not in_training[concept_id] for concept_id, _ in self.concepts)
        if not self.concepts:
            raise SapbertError(Errors.E611.format(n=len(self.labels or in_training), k=settings.k))

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


def _find(
    wanted: _Concepts,
    settings: AugmentationSettings,
    excluded: EvaluationSets,
    problems: Problems,
    counts: _Counts,
) -> list[Segment]:
    """Return the segments of the documents that were found, and count them."""
    from ..augmentation.augment import segments_of
    from ..augmentation.documents import spacy_tokens, wordpieces
    from ..augmentation.search import choose

    tokenize = wordpieces(settings.tokenizer) if settings.tokenizer else spacy_tokens()
    limit = settings.max_tokens - 2 * bool(settings.tokenizer)  # [CLS] and [SEP] are wordpieces, too
    with _search(settings, excluded, problems) as search:
        concepts = track(wanted.concepts, problems.console, "concepts", total=len(wanted.concepts))
        choice = choose(concepts, search, excluded, limit=settings.max_documents, diverse=settings.diversity_filter)
        counts["concepts"] = wanted.counts(choice)
        counts["documents"] = _document_counts(choice, search, problems)
    segments = list(segments_of(choice, tokenize, limit))
    counts["segments"] = {"cut": len(segments)}
    return segments


@contextmanager
def _search(settings: AugmentationSettings, excluded: EvaluationSets, problems: Problems) -> Iterator[DocumentSearch]:
    from ..augmentation.eutils import EutilsSearch
    from ..augmentation.search import FolderSearch
    from ..augmentation.settings import paths

    if settings.eutils:
        yield EutilsSearch(settings.eutils, settings.eutils_url, Path(settings.cache) if settings.cache else None)
        return
    inputs = open_inputs(paths(settings.documents))
    with ScratchFolder() as folder:
        documents = sound(track(read_all(inputs, problems), problems.console), problems, sys.maxsize)
        with closing(FolderSearch(folder / "documents.db", documents, excluded)) as search:
            yield search


def _document_counts(choice: Choice, search: DocumentSearch, problems: Problems) -> dict[str, int]:
    counts = search.counts + choice.counts
    names = ("excluded_by_pmid", "excluded_by_title", "passed_over")
    return {
        **{name: counts[name] for name in sorted(search.counts) if name not in names},
        **{name: counts[name] for name in names},
        "broken_records": problems.broken,
        "taken": len(choice.documents),
    }


@contextmanager
def _annotator(kb: KnowledgeBase, settings: AugmentationSettings, problems: Problems) -> Iterator[Annotator]:
    from ..augmentation.annotations import MatcherAnnotator
    from ..augmentation.metamaplite import MetaMapLite, MetaMapLiteOutput

    with ExitStack() as stack:
        if settings.metamaplite:
            cache = settings.cache
            work = Path(cache, "metamaplite") if cache else stack.enter_context(ScratchFolder())
            yield MetaMapLite(Path(settings.metamaplite), work, problems)
        elif settings.annotations:
            yield MetaMapLiteOutput(Path(settings.annotations), problems)
        else:
            yield MatcherAnnotator(kb)


def _annotation(
    annotator: Annotator, kb: KnowledgeBase, settings: AugmentationSettings, labels: list[str] | None
) -> RuleAnnotation:
    from ..augmentation.augment import RuleAnnotation
    from ..augmentation.filters import FalseAbbreviations, InvertedNames, Overlaps, Verbs

    filters: dict[str, AnnotationFilter] = {}
    if settings.abbreviation_filter:
        filters["false_abbreviations"] = FalseAbbreviations(kb)
    if settings.verb_filter:
        filters["verbs"] = Verbs()
    if settings.inversion_filter:
        filters["inverted_names"] = InvertedNames(kb)
    if settings.overlap_filter:
        filters["overlaps"] = Overlaps(kb)
    return RuleAnnotation(annotator, _id_mapping(kb, settings), filters, labels)


def _id_mapping(kb: KnowledgeBase, settings: AugmentationSettings) -> IdMapping:
    from ..augmentation.annotations import IdMapping
    from ..augmentation.settings import paths
    from ..kb.mapping import read_mappings
    from ..kb.storage import load_knowledge_base

    between = load_knowledge_base(settings.mapping_kb) if settings.mapping_kb else None
    return IdMapping(kb, read_mappings(paths(settings.mapping)), between)


def _relevant(
    annotated: Sequence[Segment], annotation: RuleAnnotation, settings: AugmentationSettings, counts: _Counts
) -> list[Segment]:
    """Return the segments to write, and count the others by reason."""
    from ..augmentation.augment import without_irrelevant

    segments = [segment for segment in annotated if segment.annotations]
    counts["segments"]["without_output"] = annotation.without_answer
    counts["segments"]["without_annotations"] = len(annotated) - len(segments)
    counts["annotations"] = dict(annotation.left)
    if settings.relevance_filter:
        n_before, segments = len(segments), without_irrelevant(segments)
        counts["segments"]["without_the_concept"] = n_before - len(segments)
        counts["annotations"]["relevant"] = sum(len(segment.annotations) for segment in segments)
    return segments


def _write(
    segments: Sequence[Segment],
    annotation: RuleAnnotation,
    kb: KnowledgeBase,
    output: Path,
    settings: AugmentationSettings,
    console: Console,
) -> dict[str, int]:
    from ..augmentation.augment import TrainingDocs, count_documents, shuffled
    from ..augmentation.settings import paths
    from ..documents.docbin import read_docbin, write_docbin
    from ..pipeline.tokenizer import blank_pipeline

    nlp = blank_pipeline("en")
    manual = [doc for path in paths(settings.mix_with) for doc in read_docbin(path, nlp.vocab)]
    make = TrainingDocs(nlp, kb, settings.weight, annotation)
    docs = shuffled(segments, make, manual, settings.seed)
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
