"""Define `spacy-sapbert augment`, which creates training documents for rare concepts by rule-based annotation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..augmentation.documents import EvaluationSets, spacy_tokens, wordpieces
from ..augmentation.search import (
    Choice,
    DocumentSearch,
    EutilsSearch,
    FolderSearch,
    choose,
    primary_ids,
    rare_concepts,
    training_documents,
)
from ..augmentation.settings import AugmentationSettings, paths
from ..documents.input_documents import Problems, read_all, sound
from ..documents.reader import read_corpus
from ..errors import Errors, SapbertError
from ..files.console import show, stderr_console, track
from ..files.output import ScratchFolder, refuse_input
from ..kb.ids import read_labels
from ..kb.mapping import read_mappings
from ..kb.storage import load_knowledge_base
from ..types import Document
from .configs import resolve
from .convert import check_docbin
from .inputs import reading_options

if TYPE_CHECKING:
    from ..augmentation.annotations import Annotator
    from ..augmentation.augment import AnnotationFilter, RuleAnnotation, Segment


def augment(
    ctx: typer.Context,
    config: Annotated[Path, typer.Argument(help="Config file, such as one that `init config augment` writes.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The .spacy file to write. Or a folder, for text files that are not yet annotated."
        ),
    ],
) -> None:
    """Create training documents for rare concepts.

    The command searches documents, annotates them by rule, and filters the annotations.
    The method is that of Shao et al. (2024).
    To override a setting of the config, give it as --augment.documents abstracts.
    It leaves out the documents of the settings exclude, train and mix_with, by PMID and by title.
    To use a key for the E-utilities, set the environment variable NCBI_API_KEY.
    """

    settings: AugmentationSettings = resolve(ctx, config, "augment", AugmentationSettings)[1]
    if output.suffix:
        check_docbin(output)
    run = _Run(settings)
    refuse_input(output, [*run.known, *paths(settings.documents)])
    run.find()
    if output.suffix:
        run.annotate()
        run.write(output)
    else:
        run.write_texts(output)
    show(run.counts)


class _Run:
    """Finds, annotates and writes segments of documents. Those of the `known` corpora are left out."""

    def __init__(self, settings: AugmentationSettings) -> None:
        self.known = [path for files in (settings.exclude, settings.train, settings.mix_with) for path in paths(files)]
        self.counts: dict[str, dict[str, int]] = {}
        self._settings = settings
        self._kb = load_knowledge_base(settings.kb)
        self._console = stderr_console()
        self._problems = Problems(self._console)
        self._labels: list[str] | None = None
        self._segments: list[Segment] = []

    def find(self) -> None:
        """Search documents for the concepts, and cut them into segments."""
        from ..augmentation.augment import segments_of

        settings = self._settings
        concepts = self._concepts()
        excluded = EvaluationSets(_read(self.known))
        tokenize = wordpieces(settings.tokenizer) if settings.tokenizer else spacy_tokens()
        limit = settings.max_tokens - 2 * bool(settings.tokenizer)  # [CLS] and [SEP] are wordpieces, too
        with self._search(excluded) as search:
            tracked = track(concepts, self._console, "concepts", total=len(concepts))
            choice = choose(tracked, search, excluded, limit=settings.max_documents, diverse=settings.diversity_filter)
            for name in ("searched", "found_nothing"):
                self.counts["concepts"][name] = choice.counts[name]
            self.counts["documents"] = self._document_counts(choice, search)
        self._segments = list(segments_of(choice, tokenize, limit))
        self.counts["segments"] = {"cut": len(self._segments)}

    def write_texts(self, folder: Path) -> None:
        """Write the segments as text files."""
        from ..augmentation.metamaplite import write_texts

        self.counts["segments"]["files"] = write_texts([segment.text for segment in self._segments], folder)

    def annotate(self) -> None:
        """Annotate the segments, and leave out those without annotations, or without the concept of the search."""
        from ..augmentation.augment import without_irrelevant

        with self._annotator() as annotator:
            self._rules = self._annotation(annotator)
            total = len(self._segments)
            annotated = list(self._rules(track(self._segments, self._console, "segments", total=total)))
        segments, counts = [segment for segment in annotated if segment.annotations], self.counts["segments"]
        counts["without_output"] = self._rules.without_answer
        counts["without_annotations"] = len(annotated) - len(segments)
        self.counts["annotations"] = dict(self._rules.left)
        self._segments = segments
        if self._settings.relevance_filter:
            self._segments = without_irrelevant(segments)
            counts["without_the_concept"] = len(segments) - len(self._segments)
            self.counts["annotations"]["relevant"] = sum(len(segment.annotations) for segment in self._segments)
        if not self._segments:
            raise SapbertError(Errors.E604.format(counts=self.counts))

    def write(self, output: Path) -> None:
        """Write the segments as training documents, with the corpora to mix in."""
        from ..augmentation.augment import TrainingDocs, count_documents, shuffled
        from ..documents.docbin import read_docbin, write_docbin
        from ..pipeline.tokenizer import blank_pipeline

        nlp, segments = blank_pipeline("en"), self._segments
        manual = [doc for path in paths(self._settings.mix_with) for doc in read_docbin(path, nlp.vocab)]
        make = TrainingDocs(nlp, self._kb, self._settings.weight, self._rules)
        docs = shuffled(segments, make, manual, self._settings.seed)
        in_documents = count_documents(segments)
        searched_for = {concept_id for segment in segments for concept_id in segment.concepts}
        self.counts["written"] = {
            "documents": write_docbin(track(docs, self._console, total=len(segments) + len(manual)), output),
            "augmented": len(segments),
            "manual": len(manual),
            "concepts": len(in_documents),
            "searched_concepts": len(searched_for & set(in_documents)),
        }

    def _concepts(self) -> list[tuple[str, str]]:
        """Return the concepts to search for. Those with annotations to keep are `_labels`."""
        settings, unknown = self._settings, 0
        in_training = training_documents(_read(paths(settings.train)), self._kb)
        if settings.labels:
            self._labels, unknown = primary_ids(read_labels(Path(settings.labels)), self._kb)
        concepts = rare_concepts(in_training, self._labels, self._kb, None if settings.all_concepts else settings.k)
        if not concepts:
            raise SapbertError(Errors.E611.format(n=len(self._labels or in_training), k=settings.k))
        unseen = sum(not in_training[concept_id] for concept_id, _ in concepts)
        counts = {"searched": 0, "unseen_in_training": unseen, "found_nothing": 0, "not_in_vocabulary": unknown}
        self.counts["concepts"] = counts
        return concepts

    @contextmanager
    def _search(self, excluded: EvaluationSets) -> Iterator[DocumentSearch]:
        settings = self._settings
        if settings.eutils:
            cache = Path(settings.cache) if settings.cache else None
            yield EutilsSearch(settings.eutils, settings.eutils_url, cache)
            return
        folders = paths(settings.documents)
        inputs = list(zip(folders, repeat(reading_options(folders)), strict=False))
        with ScratchFolder() as folder:
            documents = sound(track(read_all(inputs, self._problems), self._console), self._problems, sys.maxsize)
            with closing(FolderSearch(folder / "documents.db", documents, excluded)) as search:
                yield search

    def _document_counts(self, choice: Choice, search: DocumentSearch) -> dict[str, int]:
        counts = search.counts + choice.counts
        names = ("excluded_by_pmid", "excluded_by_title", "passed_over")
        others = sorted(name for name in search.counts if name not in names)
        shown = {name: counts[name] for name in (*others, *names)}
        return {**shown, "broken_records": self._problems.broken, "taken": len(choice.documents)}

    @contextmanager
    def _annotator(self) -> Iterator[Annotator]:
        from ..augmentation.annotations import MatcherAnnotator
        from ..augmentation.metamaplite import MetaMapLite, MetaMapLiteOutput

        settings = self._settings
        with ExitStack() as stack:
            if settings.metamaplite:
                cache = settings.cache
                work = Path(cache, "metamaplite") if cache else stack.enter_context(ScratchFolder())
                yield MetaMapLite(Path(settings.metamaplite), work, self._problems)
            elif settings.annotations:
                yield MetaMapLiteOutput(Path(settings.annotations), self._problems)
            else:
                yield MatcherAnnotator(self._kb)

    def _annotation(self, annotator: Annotator) -> RuleAnnotation:
        from ..augmentation.annotations import FalseAbbreviations, IdMapping, InvertedNames, Overlaps, Verbs
        from ..augmentation.augment import RuleAnnotation

        settings = self._settings
        filters: dict[str, AnnotationFilter] = {}
        if settings.abbreviation_filter:
            filters["false_abbreviations"] = FalseAbbreviations(self._kb)
        if settings.verb_filter:
            filters["verbs"] = Verbs()
        if settings.inversion_filter:
            filters["inverted_names"] = InvertedNames(self._kb)
        if settings.overlap_filter:
            filters["overlaps"] = Overlaps(self._kb)
        between = load_knowledge_base(settings.mapping_kb) if settings.mapping_kb else None
        mapping = IdMapping(self._kb, read_mappings(paths(settings.mapping)), between)
        return RuleAnnotation(annotator, mapping, filters, self._labels)


def _read(paths: Sequence[Path]) -> Iterator[Document]:
    for path in paths:
        yield from read_corpus(path)
