"""Define an implementation of OAK, the Ontology Access Kit: `runoak -i sapbert:medic.kb annotate "a heart attack"`.

OAK loads this module by its entry point whenever it starts, and documents the methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oaklib.datamodels.search import SearchConfiguration
from oaklib.datamodels.text_annotator import TextAnnotation, TextAnnotationConfiguration
from oaklib.datamodels.vocabulary import HAS_EXACT_SYNONYM, IS_A, LABEL_PREDICATE
from oaklib.interfaces import SearchInterface, TextAnnotatorInterface

from ..kb.ids import canonical_id, curie_of
from ..kb.search import search_names
from ..types import Concept, Document

_MOST = 100  # concepts of a search


@dataclass
class SapbertImplementation(SearchInterface, TextAnnotatorInterface):
    """A vocabulary and its linker, by the path of a pipeline or a knowledge base. Without one, those in the package.

    Ids are CURIEs, such as MESH:D009203. The confidence is the probability of a link, or its score if that is unknown.
    """

    def __post_init__(self) -> None:
        from rich.console import Console

        from ..documents.input_documents import Problems
        from ..pipeline.factories import LINKER, MATCHER, RESOLVER
        from ..pipeline.tokenizer import blank_pipeline
        from .document_linker import LinkingPipeline, LinkSettings

        path = getattr(self.resource, "slug", None) or "spacy_sapbert"
        pipeline: Any = path
        if Path(path).is_file():
            pipeline = blank_pipeline("en")
            for name in (RESOLVER, MATCHER, "composite_splitter", LINKER):
                pipeline.add_pipe(name, config={"kb": path} if name in (MATCHER, LINKER) else {})
        self._linking = LinkingPipeline(LinkSettings(pipeline), Problems(Console(stderr=True), strict=True))
        self._kb = self._linking.kb

    # --- text

    def annotate_text(
        self, text: str, configuration: TextAnnotationConfiguration | None = None
    ) -> Iterator[TextAnnotation]:
        from ..linking.grounding import ground_record

        if configuration and configuration.matches_whole_text:
            types = list(configuration.categories) or None
            candidates = ground_record(text, "", types, self._kb)["candidates"]
            mentions: list[Any] = [({"start": 0, "end": len(text), "text": text}, candidates[:1])]
        else:
            records = self._linking([Document("", text)])
            mentions = [(entity, entity["links"]) for record in records for entity in record["entities"]]
        for mention, links in mentions:
            for link in links:
                if link["concept_id"] and not link.get("refusal"):
                    probability = link["probability"]
                    yield TextAnnotation(
                        subject_start=mention["start"] + 1,  # OAK counts from 1
                        subject_end=mention["end"],
                        subject_label=mention["text"],
                        match_string=link["name"],
                        object_id=curie_of(link["concept_id"]),
                        object_label=link["preferred_name"],
                        object_categories=link["types"],
                        confidence=link["score"] if probability is None else probability,
                        matches_whole_text=mention["text"] == text,
                    )

    # --- the vocabulary

    def entities(self, filter_obsoletes: bool = True, owl_type: str | None = None) -> Iterator[str]:
        return map(curie_of, self._kb.concept_ids())

    def label(self, curie: str, lang: str | None = None) -> str | None:
        concept_ids = self._kb.find_id(canonical_id(curie))[:1]
        return next((label.preferred for label in self._kb.labels_of(concept_ids, lang or "").values()), None)

    def definition(self, curie: str, lang: str | None = None) -> str | None:
        return next((concept.definition for concept in self._concepts(curie)), None)

    def entity_alias_map(self, curie: str) -> dict[str, list[str]]:
        names = ((concept.canonical_name, concept.aliases) for concept in self._concepts(curie))
        return next(({LABEL_PREDICATE: [label], HAS_EXACT_SYNONYM: list(others)} for label, others in names), {})

    def outgoing_relationship_map(self, curie: str) -> dict[str, list[str]]:
        return {IS_A: [curie_of(parent) for concept in self._concepts(curie) for parent in concept.parents]}

    def basic_search(self, search_term: str, config: SearchConfiguration | None = None) -> Iterable[str]:
        """Return the concepts with this id, or with a name that has all words."""
        return [curie_of(concept_id) for concept_id, _, _ in search_names(self._kb, search_term, _MOST)]

    def _concepts(self, curie: str) -> Iterator[Concept]:
        return filter(None, map(self._kb.get, self._kb.find_id(canonical_id(curie))[:1]))
