"""`sapbert_linker`: link mentions to concepts."""

import warnings
from contextlib import nullcontext
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple
from weakref import WeakSet

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from ..documents.docs import from_doc
from ..errors import SettingError, Warnings
from ..files.postgres import check_address
from ..kb.ids import language_tag
from ..linking.settings import (
    FORMER_RERANKER_FILE,
    RANKER_FILE,
    CandidateSettings,
    LinkerParameters,
    LinkerSettings,
    SelectionSettings,
    VectorSettings,
)
from ..store.artifact import ArtifactWriter
from ..training.settings import BioSyn
from ..types import NIL, LinkedPart
from .attributes import ASSERTION, DECIDED, get_linked_by, get_links, register, set_kb_ents, set_linked_by, set_links
from .base import BatchedPipe
from .component_settings import add_factory, check_setting, language_rules
from .corrections import CorrectedComponent, corrected
from .factories import INSIDE, LINKER
from .mentions import gold_ids, mentions_of, place_of, queries_of, set_kb_ids, with_gold_mentions
from .scorers import score_links

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..linking.candidates import CandidateGenerator
    from ..linking.linker import Linker, MentionCandidates
    from ..training.linker_trainer import LinkerTrainer, TrainingMention

Parts = Tuple[LinkedPart, ...]
_DEFAULTS = LinkerSettings()
_in_use: "WeakSet[SapbertLinker]" = WeakSet()


class SapbertLinker(CorrectedComponent, BatchedPipe):
    """Links each mention to the concepts with the most similar names.

    `linking.linker.Linker` does the work. The component reads the mentions of documents and writes the links.

    These settings can be changed at any time: `k`, `threshold`, `max_entities_per_mention`, `spans_key`,
    `display_language`, `types`, `sources`, `label_types`, `resolve_abbreviations`, `filter_for_definitions` and
    `no_definition_threshold`. So can `settings.selection`, and `settings.candidates` except for `sparse` and
    `text_normalizer`. The changes are not saved.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        kb: "starter", the path of a knowledge base that `spacy-sapbert kb build` made, or the folder of a saved
            pipeline, for its vocabulary.
        encoder: "starter", a folder or a hub name; "none" for the sparse score alone.
        device: The device of the encoder: "auto", "cpu", "cuda", …
        index: How the nearest names are found. "auto" goes by the number of names. If they are many, an encoder other
            than the starter scores only the names that the n-grams propose. "Flat" scores all names, however many there
            are. "HNSW", "IVF", "IVF,PQ", "SQ8" and others are kinds of faiss indexes. "qdrant:FOLDER", a URL or
            a postgresql:// address searches a database that `spacy-sapbert kb upload` filled. All but "Flat" may miss
            some names.
        storage: "inside" saves the vocabulary, its vectors and its n-grams with the pipeline. "external" saves only
            their paths and checksums, for large vocabularies.
        k: The most candidates for each text that is looked up.
        threshold: A link needs a higher score. None lets the probability decide, which must be above the fitted value,
            else 0.5. A linker without probabilities takes the fitted score, else 0.85.
        max_entities_per_mention: The most candidates in `span._.kb_ents`, for each part of a mention.
        spans_key: Link `doc.spans[spans_key]` instead of `doc.ents`.
        display_language: Outputs show the preferred names in this language, such as "es", where the vocabulary has
            them. Links do not change. An empty text shows the preferred names of the vocabulary.
        types: Only concepts of these types. The filter comes before the k best are taken. An empty list allows all.
        sources: Only names from these sources. An empty list allows all.
        label_types: Types for mentions with a label, instead of `types`.
        resolve_abbreviations: Expand the short forms that `abbreviation_resolver` found.
        corrections: A file or PostgreSQL address of corrections, which decide what a mention is linked to. None has no
            corrections.
        filter_for_definitions: Whether a concept without a definition needs a score of `no_definition_threshold`.
        no_definition_threshold: That score.
        candidates: Expert settings, see `linking.settings.CandidateSettings`.
        selection: Expert settings, see `linking.settings.SelectionSettings`.
        vectors: Expert settings, see `linking.settings.VectorSettings`.
        training: How `spacy train` trains the linker on annotated documents; None for no training.
        scorer: Compares predicted documents with annotated ones.

    Raises:
        SapbertError: E193 `display_language` is no tag, E406 a setting cannot have its value.
    """

    blocks = {"candidates": CandidateSettings, "selection": SelectionSettings, "vectors": VectorSettings}
    shared = LinkerSettings
    fixed = ("kb", "encoder", "device", "index", "corrections", "vectors")
    shown = ("kb", "encoder", "spans_key")
    scored_as = "linker"

    def __init__(
        self,
        nlp: Language,
        name: str = "sapbert_linker",
        *,
        kb: str = "starter",
        encoder: str = "starter",
        device: str = "auto",
        index: str = "auto",
        storage: str = INSIDE,
        k: int = _DEFAULTS.k,
        threshold: Optional[float] = None,
        max_entities_per_mention: int = _DEFAULTS.max_entities_per_mention,
        spans_key: Optional[str] = None,
        display_language: str = "",
        types: List[str] = [],
        sources: List[str] = [],
        label_types: Dict[str, List[str]] = {},
        resolve_abbreviations: bool = True,
        corrections: Optional[str] = None,
        filter_for_definitions: bool = False,
        no_definition_threshold: float = _DEFAULTS.no_definition_threshold,
        candidates: Optional[Dict[str, Any]] = None,
        selection: Optional[Dict[str, Any]] = None,
        vectors: Optional[Dict[str, Any]] = None,
        training: Optional[BioSyn] = None,
        scorer: Optional[Callable] = score_links,
        linker_name: Optional[str] = None,
    ) -> None:
        check_address(index)
        self.keep(nlp, name, locals())
        self.model: Any = None  # None until it is trained
        self.display_language = language_tag(display_language)
        self.set_corrections(corrections)
        scored = self.settings.candidates.sparse or encoder != "none"
        check_setting(self, "encoder", scored, "an encoder, unless `candidates.sparse` is true")
        exact = index in ("auto", "Flat")
        check_setting(self, "index", encoder != "none" or exact, "'auto' or 'Flat' if encoder is 'none'")
        self._linker: Optional[Linker] = None
        self._trainer: Optional[LinkerTrainer] = None
        self._has_warned = False
        self._language = language_rules(None, self.vocab)
        _in_use.add(self)

    @property
    def batch_size(self) -> int:  # type: ignore[override]
        """The number of documents with mentions that are looked up together."""
        return self.settings.candidates.batch_size

    # --- linking

    @property
    def linker(self) -> "Linker":
        """The linker. What the config refers to is opened at the first use."""
        if self._linker is None:
            from ..encoders.encoder import open_encoder
            from ..kb.storage import load_knowledge_base
            from ..linking.storage import open_generator

            encoder = open_encoder(self._encoder, pooling=self._vectors.pooling, device=self._device)
            self._linker = self._use(open_generator(load_knowledge_base(self._kb), encoder, **self._sources))
            if encoder and (model := encoder.lexical_model):
                weight, threshold = model.sparse_weight, model.threshold
                self._linker.stored_parameters = LinkerParameters(sparse_weight=weight, threshold=threshold)
        if self._trainer:
            self._trainer.refresh()
        return self._linker

    @property
    def kb(self) -> "KnowledgeBase":
        """The vocabulary.

        `kb.cui_to_entity`, `kb.alias_to_cuis` and `kb.semantic_type_tree` work as in scispaCy's linker.
        """
        return self.linker.kb

    @property
    def candidate_generator(self) -> "MentionCandidates":
        """Finds candidates for a list of texts and a number, as in scispaCy's linker."""
        from ..linking.linker import MentionCandidates

        return MentionCandidates(self.linker)

    def predict(self, docs: Sequence[Doc]) -> List[List[Parts]]:
        """Return the parts of each mention of each document, with candidates of any score."""
        resolve = self.resolve_abbreviations
        queries = [queries_of(doc, self.spans_key, resolve_abbreviations=resolve, rules=self._language) for doc in docs]
        if not any(queries):
            self._warn_without_finder(docs)
            return [[] for _ in docs]
        linked = self.linker.link(queries)
        if self._obeyed is None:
            return linked
        return [self._corrected(doc, parts) for doc, parts in zip(docs, linked)]

    def _warn_without_finder(self, docs: Sequence[Doc]) -> None:
        """Warn once if no component has looked for mentions."""
        if self._has_warned or any(_is_searched(doc, self.spans_key) for doc in docs):
            return
        self._has_warned = True
        where = "doc.ents" if self.spans_key is None else f"doc.spans['{self.spans_key}']"
        warnings.warn(Warnings.W418.format(component=self.name, where=where), stacklevel=2)

    def _corrected(self, doc: Doc, linked: List[Parts]) -> List[Parts]:
        """Return the parts of the mentions of a document as the corrections decide."""
        from ..review.corrections import document_key

        kb = self.linker.kb
        decisions, key = self._decided(kb, self._language), document_key(doc.text)
        mentions = mentions_of(doc, self.spans_key)
        for span in mentions:
            flags = decisions.flags_of(key, span.start_char, span.end_char)
            if flags is not None:  # for an assertion_detector before or behind this component
                ASSERTION.set(span, flags)
                DECIDED.set(span, flags)
        return [
            corrected(parts, span.text, decisions.of(key, span.start_char, span.end_char, span.text, span.label_), kb)
            for span, parts in zip(mentions, linked)
        ]

    def set_annotations(self, docs: Sequence[Doc], predictions: Sequence[Sequence[Parts]]) -> None:
        """Write `kb_id_`, `_.kb_ents` and `_.links` of each mention.

        A link of another linker stays, unless this linker links the mention, too, and has its label in `label_types`.
        """
        register()  # scispaCy may have replaced the attributes meanwhile
        mentions = [mentions_of(doc, self.spans_key) if parts else [] for doc, parts in zip(docs, predictions)]
        parts_and_labels: List[Tuple[Parts, str]] = []
        for of_doc, predicted in zip(mentions, predictions):
            parts_and_labels += zip(predicted, map(attrgetter("label_"), of_doc))
        annotations = iter(self.linker.annotations(parts_and_labels) if parts_and_labels else ())
        for doc, of_doc in zip(docs, mentions):
            kb_ids, replaced = [], []
            for mention, annotation in zip(of_doc, annotations):
                stays = self._stays(mention, annotation.kb_id)
                kb_ids.append(mention.kb_id_ if stays else annotation.kb_id)
                if not stays:
                    replaced.append((mention, annotation))
            set_kb_ids(doc, of_doc, kb_ids, self.spans_key)
            for mention, (links, kb_ents, _) in replaced:
                set_links(mention, links)
                set_kb_ents(mention, kb_ents)
                set_linked_by(mention, self._signature)

    @property
    def _signature(self) -> Optional[str]:
        return None if self.name == LINKER else self.name

    def _stays(self, mention: Span, kb_id: str) -> bool:
        """Return whether another linker has linked the mention, and this one does not replace its link."""
        if mention.kb_id_ in ("", NIL) or not get_links(mention) or get_linked_by(mention) == self._signature:
            return False
        return mention.label_ not in self.label_types or kb_id == NIL

    def _forget(self) -> None:
        if self._linker is not None:
            self._linker.generator.forget()

    def use(self, generator: "CandidateGenerator") -> None:
        """Link with another generator from now on, such as that of more names. Calibration and ranker stay."""
        old, new = self.linker, self._use(generator)
        new.stored_parameters, new.trained_ranker = old.stored_parameters, old.trained_ranker

    def set_kb(self, kb: str) -> None:
        """Link to another vocabulary from now on, with the same encoder. Calibration and ranker are dropped.

        Args:
            kb: "starter", or the path of a knowledge base.
        """
        from ..kb.storage import load_knowledge_base
        from ..linking.storage import open_generator

        linker, sources = self.linker, self._sources
        if ngrams := linker.generator.ngram_encoder:
            sources["text_normalizer"] = ngrams.text_normalizer
        if self._trainer:
            self._trainer.note()
        generator = open_generator(load_knowledge_base(kb), linker.generator.encoder, **sources)
        self._use(generator).stored_parameters = linker.stored_parameters.without_calibration()

    @property
    def _sources(self) -> Dict[str, Any]:
        """The settings of `open_generator`."""
        candidates, compression = self.settings.candidates, self._vectors.compression
        form = candidates.text_normalizer
        return {"sparse": candidates.sparse, "text_normalizer": form, "index": self._index, "compression": compression}

    def _use(self, generator: "CandidateGenerator") -> "Linker":
        from ..kb.filters import check_filters
        from ..kb.ids import display_tag
        from ..linking.linker import Linker

        check_filters(generator.kb, {*self.types}.union(*self.label_types.values()), {*self.sources})
        display_tag(generator.kb, self.display_language)
        self._linker = Linker(generator, self.settings, rules=self._language)
        self._trainer = self.model = None  # they belong to the old linker
        return self._linker

    # --- training

    def _begin_training(self, examples: List[Example]) -> None:
        for setting in ("sparse_weight", "prior_weight"):
            value = getattr(self.settings.candidates, setting)
            if value is not None:
                wanted = "null: `training` sets its initial value"
                block = f"candidates.{setting}"
                raise SettingError(component=self.name, setting=block, value=value, wanted=wanted)
        documents = [from_doc(example.reference, spans_key=self.spans_key or "") for example in examples]
        self._start_training().begin(documents)

    def _train(self, examples: List[Example]) -> Optional[float]:
        mentions = self._training_mentions(examples)
        if not mentions:
            return None
        trainer = self._start_training()
        scores, backprop = trainer.begin_update(mentions)
        loss, gradient = trainer.loss(scores)
        backprop(gradient)
        return loss

    def _start_training(self) -> "LinkerTrainer":
        from ..training.linker_trainer import LinkerTrainer

        if self._trainer is None:
            assert self.training is not None
            self._trainer = LinkerTrainer(self.linker, self.training)
            self.model = self._trainer.model
        return self._trainer

    def _training_mentions(self, examples: Sequence[Example]) -> List["TrainingMention"]:
        trainer = self._start_training()
        trainer.count_documents(len(examples))
        found: List[TrainingMention] = []
        for example in examples:
            doc = with_gold_mentions(example, self.spans_key)
            gold = gold_ids(example.reference, self.spans_key)
            queries = queries_of(doc, self.spans_key, resolve_abbreviations=self.resolve_abbreviations)
            for mention, query in zip(mentions_of(doc, self.spans_key), queries):
                found += trainer.mentions(query, gold.get(place_of(mention), ()))
        return trainer.pick(found)

    # --- saving

    def _save(self, folder: Path, artifacts: ArtifactWriter) -> None:
        from ..linking.storage import save_generator

        linker = self.linker
        ranker, parameters = linker.trained_ranker, linker.stored_parameters
        if self._trainer and not ranker:
            prior_weight, ranker = self._trainer.ranking()
            parameters = parameters._replace(prior_weight=prior_weight)
        trained = self._trainer.trained_generator() if self._trainer else nullcontext(linker.generator)
        with trained as generator:
            save_generator(generator, artifacts, self._index)
        parameters.save(folder)
        if ranker:
            ranker.save(folder / RANKER_FILE)
        self._save_corrections(artifacts)

    def _load(self, folder: Path, artifacts: Mapping[str, Path]) -> None:
        from ..linking.storage import load_generator

        linker = self._use(load_generator(artifacts, device=self._device, **self._sources))
        parameters = LinkerParameters.load(folder)
        if (folder / FORMER_RERANKER_FILE).is_file() or (parameters.reranked and parameters.probabilities):
            warnings.warn(Warnings.W419.format(path=folder), stacklevel=2)
            parameters = parameters.without_calibration()
        linker.stored_parameters = parameters
        if (folder / RANKER_FILE).is_file():
            from ..linking.ranker import Ranker

            linker.trained_ranker = Ranker.load(folder / RANKER_FILE)
        self._load_corrections(artifacts)


def _is_searched(doc: Doc, spans_key: Optional[str]) -> bool:
    """Return whether a component has set the mentions of a document, be it to none."""
    return not len(doc) or (doc.has_annotation("ENT_IOB") if spans_key is None else spans_key in doc.spans)


add_factory(
    SapbertLinker,
    assigns=["doc.ents", "span._.kb_ents", "span._.links"],
    requires=["doc.ents"],
    score_weights={"link_acc": 1.0, "link_strict": 0.0, "link_recall": 0.0, "link_lambda": 0.0},
    scorer={"@scorers": "spacy-sapbert.linking_scorer.v1"},
)


def linkers_of(vocab: Vocab) -> List[SapbertLinker]:
    """Return the linkers in use in this process whose pipeline has this vocabulary of words, by name."""
    return sorted((linker for linker in _in_use if linker.vocab is vocab), key=lambda linker: linker.name)
