"""`sapbert_linker`: from mentions to concepts."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..errors import Errors, SapbertError
from ..linking.spelling import VOCABULARY, load_corrections, open_corrector, save_corrections
from ..text.abbreviations import expand
from ..text.normalize import TEXT_NORMALIZERS
from ..text.spelling import CorrectionList, Corrector
from ..training.biosyn import BioSyn
from ..types import NIL, Candidate, Link, LinkedPart
from .attributes import (
    get_abbreviation_occurrences,
    get_composite_splits,
    get_matched_name,
    register,
    set_kb_ents,
    set_links,
)
from .learning import LearningPipe
from .linking_scorer import score_links
from .mentions import mentions_of, set_kb_ids
from .settings import check_setting

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..linking.candidates import CandidateGenerator, Filter
    from ..linking.variants import MentionVariants

# Fitted on the training parts of BC5CDR and NCBI Disease (`benchmarks/decisions.py`).
SHORT_FORM_MARGIN = 0.25
SPLIT_MARGIN = 0.0
# Fitted there as well: of the 141 mentions that the words of MEDIC would correct, 5 more are right with the starter
# encoder, 1 more with the sparse score, and for that 0 to 0.05 are alike where each mention has been misspelt.
SPELLING_MARGIN = 0.02

Parts = Tuple[LinkedPart, ...]


@Language.factory(
    "sapbert_linker",
    assigns=["doc.ents", "span._.kb_ents", "span._.links"],
    default_config={
        "kb": "starter",
        "encoder": "starter",
        "pooling": None,
        "device": "auto",
        "index": "Flat",
        "sparse": True,
        "text_normalizer": "biosyn+greek",
        "sparse_weight": None,
        "prior_weight": None,
        "batch_size": 128,
        "k": 30,
        "threshold": None,
        "max_entities_per_mention": 5,
        "spans_key": None,
        "types": [],
        "sources": [],
        "label_types": {},
        "resolve_abbreviations": True,
        "split_composites": True,
        "short_form_margin": SHORT_FORM_MARGIN,
        "split_margin": SPLIT_MARGIN,
        "spelling": None,
        "spelling_margin": SPELLING_MARGIN,
        "filter_for_definitions": False,
        "no_definition_threshold": 0.95,
        "training": None,
        "scorer": {"@scorers": "spacy-sapbert.linking_scorer.v1"},
    },
    default_score_weights={"link_acc": 1.0, "link_strict": 0.0, "link_recall": 0.0, "link_lambda": 0.0},
)
def make_sapbert_linker(
    nlp: Language,
    name: str,
    kb: str,
    encoder: str,
    pooling: Optional[str],
    device: str,
    index: str,
    sparse: bool,
    text_normalizer: str,
    sparse_weight: Optional[float],
    prior_weight: Optional[float],
    batch_size: int,
    k: int,
    threshold: Optional[float],
    max_entities_per_mention: int,
    spans_key: Optional[str],
    types: List[str],
    sources: List[str],
    label_types: Dict[str, List[str]],
    resolve_abbreviations: bool,
    split_composites: bool,
    short_form_margin: float,
    split_margin: float,
    spelling: Optional[str],
    spelling_margin: float,
    filter_for_definitions: bool,
    no_definition_threshold: float,
    learning: Optional[BioSyn],
    scorer: Optional[Callable],
) -> "SapbertLinker":
    settings = locals()
    return SapbertLinker(settings.pop("nlp").vocab, **settings)


class SapbertLinker(LearningPipe):
    """Links every mention to the concepts whose names are most like it.

    A mention is looked up as it stands, with its abbreviations expanded, and part by part where the
    `composite_splitter` offers readings. Where it was learnt or fitted how often annotators mean a concept, that counts
    beside the likeness of names (`spacy_sapbert.linking.prior.Prior`). `spacy_sapbert.linking.variants.VariantSelector` says which of
    the forms is linked, and `spacy_sapbert.linking.ties.TieBreaker` to which of several concepts with the same score.

    kb (str): "starter", or the path of a store that `spacy-sapbert kb build` made.
    encoder (str): "starter", a folder or a hub name; "none" for the sparse score alone.
    pooling (str | None): "cls" or "mean"; None takes what the encoder says.
    device (str): where the encoder runs: "auto", "cpu", "cuda", …
    index (str): how the names nearest by the dense score are found: "Flat" compares with all of them; "HNSW", "IVF",
        "IVF,PQ", "SQ8" and other kinds that faiss knows are faster or smaller, and may miss some (see
        `spacy_sapbert.vectors.faiss_index.index_kind`). "qdrant:FOLDER" or a URL searches a Qdrant database that
        `spacy-sapbert kb upload` filled.
    sparse (bool): use the sparse score.
    text_normalizer (str): the normal form in which it reads names: "biosyn+greek" (lower-case without punctuation,
        Greek letters spelled out), or another of `TEXT_NORMALIZERS`, such as "lower+greek", "unpunctuated+greek" or "none".
        Without "+greek", Greek letters stay. A saved pipeline keeps the one it has, and so does an encoder to which
        n-grams belong.
    sparse_weight (float | None): its weight λ beside the dense score; None takes what was learnt, here or with a
        published encoder, else 0.2.
    prior_weight (float | None): the weight μ of how often annotators meant a concept; None takes what was learnt or
        fitted. It counts only where that was, see `spacy_sapbert.linking.prior.Prior`.
    batch_size (int): documents whose mentions are looked up together.
    k (int): candidates for each text that is looked up.
    threshold (float | None): a link needs a higher score; None takes what was fitted (see `fitted`), else 0.85.
    max_entities_per_mention (int): how many candidates `span._.kb_ents` holds, for each part.
    spans_key (str | None): link `doc.spans[spans_key]` instead of `doc.ents`.
    types, sources (List[str]): only concepts of these types, only names from these sources; filtered before the k
        best are taken. Empty lists let all pass.
    label_types (Dict[str, List[str]]): types for mentions with this label, in place of `types`.
    resolve_abbreviations, split_composites (bool): use what `abbreviation_resolver` and `composite_splitter` found.
    spelling (str | None): look up misspelt words corrected as well: "vocabulary" by the words that it has (see
        `KnownWords`), the path of a list by that (see `read_corrections`); None for not at all.
    short_form_margin (float): a mention as it stands goes before its long form only where its score is by more than
        this higher.
    split_margin (float): the parts of a mention go before the whole only where their score is by more than this higher;
        `VariantSelector` says how they are scored.
    spelling_margin (float): a correction goes before what is written only where its score is by more than this higher.
    filter_for_definitions (bool): whether a concept without a definition needs a higher score than others.
    no_definition_threshold (float): the score that it needs then, at least.
    learning (BioSyn | None): how it learns from annotated documents in `spacy train`; None for not at all.
    scorer (Callable | None): measures predicted documents beside annotated ones.

    All settings but the first three, `device`, `index`, `sparse`, `text_normalizer` and `spelling` can be changed at
    any time; the change is not saved.
    RAISES (SapbertError): E406 a setting that cannot be; E407 neither encoder nor sparse score.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "sapbert_linker",
        *,
        kb: str = "starter",
        encoder: str = "starter",
        pooling: Optional[str] = None,
        device: str = "auto",
        index: str = "Flat",
        sparse: bool = True,
        text_normalizer: str = "biosyn+greek",
        sparse_weight: Optional[float] = None,
        prior_weight: Optional[float] = None,
        batch_size: int = 128,
        k: int = 30,
        threshold: Optional[float] = None,
        max_entities_per_mention: int = 5,
        spans_key: Optional[str] = None,
        types: Sequence[str] = (),
        sources: Sequence[str] = (),
        label_types: Optional[Dict[str, List[str]]] = None,
        resolve_abbreviations: bool = True,
        split_composites: bool = True,
        short_form_margin: float = SHORT_FORM_MARGIN,
        split_margin: float = SPLIT_MARGIN,
        spelling: Optional[str] = None,
        spelling_margin: float = SPELLING_MARGIN,
        filter_for_definitions: bool = False,
        no_definition_threshold: float = 0.95,
        learning: Optional[BioSyn] = None,
        scorer: Optional[Callable] = score_links,
    ) -> None:
        super().__init__(learning, scorer)
        self.vocab = vocab
        self.name = name
        self._kb = kb
        self._encoder = encoder
        self._pooling = pooling
        self._device = device
        self._index = index
        self._sparse = sparse
        self._sparse_normaliser = text_normalizer
        self._sparse_weight = sparse_weight
        self._prior_weight = prior_weight
        self.batch_size = batch_size
        self.k = k
        self._threshold = threshold
        self.max_entities_per_mention = max_entities_per_mention
        self.spans_key = spans_key
        self.types = list(types)
        self.sources = list(sources)
        self.label_types = dict(label_types or {})
        self.resolve_abbreviations = resolve_abbreviations
        self.split_composites = split_composites
        self.short_form_margin = short_form_margin
        self.split_margin = split_margin
        self._spelling = spelling
        self.spelling_margin = spelling_margin
        self.filter_for_definitions = filter_for_definitions
        self.no_definition_threshold = no_definition_threshold
        self._corrector: Optional[Corrector] = None
        self._check_settings()
        register()

    # --- linking

    def predict(self, docs: Sequence[Doc]) -> List[List[Parts]]:
        """RETURNS (List[List[Parts]]): for each mention of each document its parts, with candidates of any score."""
        from ..linking.ties import TieBreaker
        from ..linking.variants import VariantSelector

        forms = [self._forms(doc) for doc in docs]
        filters = [[self._filter(mention) for mention in mentions_of(doc, self.spans_key)] for doc in docs]
        found = self._look_up(
            (filter, text)
            for variants_of_doc, filters_of_doc in zip(forms, filters)
            for form, filter in zip(variants_of_doc, filters_of_doc)
            for text in form.texts()
        )
        decision = VariantSelector(self.short_form_margin, self.split_margin, self.spelling_margin)
        predicted = [
            [decision.decide(form, found[filter].__getitem__) for form, filter in zip(variants_of_doc, filters_of_doc)]
            for variants_of_doc, filters_of_doc in zip(forms, filters)
        ]
        if not found:
            return predicted
        homonyms = TieBreaker(self.kb, self._passing, self.label_types)
        labels = [[mention.label_ for mention in mentions_of(doc, self.spans_key)] for doc in docs]
        return [homonyms.decide(mentions, labels_of_doc) for mentions, labels_of_doc in zip(predicted, labels)]

    def set_annotations(self, docs: Sequence[Doc], predictions: Sequence[Sequence[Parts]]) -> None:
        """Write `kb_id_`, `_.kb_ents` and `_.links` of every mention."""
        register()  # scispaCy may have replaced the attributes since
        for doc, predicted in zip(docs, predictions):
            kb_ids = []
            for mention, parts in zip(mentions_of(doc, self.spans_key), predicted):
                links = [self._link(part, mention, split=len(parts) > 1) for part in parts]
                set_links(mention, links)
                set_kb_ents(mention, self._kb_ents(parts))
                kb_ids.append("|".join(dict.fromkeys(link.concept_id for link in links if link.concept_id)) or NIL)
            set_kb_ids(doc, kb_ids, self.spans_key)

    @property
    def threshold(self) -> float:
        """As it was set, else as it was fitted."""
        return self.fitted.threshold if self._threshold is None else self._threshold

    @threshold.setter
    def threshold(self, value: Optional[float]) -> None:
        self._threshold = value

    @property
    def corrector(self) -> Optional[Corrector]:
        """What corrects misspelt words, as `spelling` says; made at the first use."""
        if self._corrector is None and self._spelling is not None:
            self._corrector = open_corrector(self._spelling, self.kb)
        return self._corrector

    # --- one mention

    def _forms(self, doc: Doc) -> List["MentionVariants"]:
        from ..linking.variants import MentionVariants

        text = doc.text  # which spaCy puts together anew each time
        occurrences = get_abbreviation_occurrences(doc) if self.resolve_abbreviations else []
        forms = []
        for mention in mentions_of(doc, self.spans_key):
            expanded = expand(text, mention.start_char, mention.end_char, occurrences) if occurrences else mention.text
            long_form = expanded if expanded != mention.text else None
            composite_splits = get_composite_splits(mention) if self.split_composites else []
            form = MentionVariants(mention.text, long_form, composite_splits, get_matched_name(mention))
            forms.append(form._replace(corrections=self._corrections(form)))
        return forms

    def _corrections(self, form: "MentionVariants") -> Dict[str, str]:
        if self.corrector is None or form.name is not None:
            return {}
        corrected = {text: self.corrector(text) for text in form.texts()}
        return {text: right for text, right in corrected.items() if right != text}

    def _use(self, generator: "CandidateGenerator") -> None:
        super()._use(generator)
        if self._spelling == VOCABULARY:
            self._corrector = None

    def _save(self, folder: Path) -> None:
        super()._save(folder)
        if self._spelling != VOCABULARY and isinstance(self.corrector, CorrectionList):
            save_corrections(self.corrector, folder)

    def _load(self, folder: Path) -> None:
        super()._load(folder)
        if self._spelling not in (None, VOCABULARY):
            self._corrector = load_corrections(folder)

    def _check_filters(self, kb: "KnowledgeBase") -> None:
        from ..linking.open import check_filters

        check_filters(kb, set(self.types).union(*self.label_types.values()), set(self.sources))

    def _filter(self, mention: Span) -> "Filter":
        from ..linking.candidates import Filter

        types = self.label_types.get(mention.label_, self.types)
        return Filter(tuple(sorted(types)), tuple(sorted(self.sources)))

    def _look_up(self, wanted: Iterable[Tuple["Filter", str]]) -> Dict["Filter", Dict[str, List[Candidate]]]:
        texts: Dict[Filter, Dict[str, None]] = {}
        for filter, text in wanted:
            texts.setdefault(filter, {})[text] = None
        weighed = self.prior or list
        return {
            filter: dict(zip(unique, map(weighed, self.generator(list(unique), self.k, filter))))
            for filter, unique in texts.items()
        }

    def _link(self, part: LinkedPart, mention: Span, *, split: bool) -> Link:
        passing = self._passing(part.candidates)
        best = passing[0] if passing else next(iter(part.candidates), None)
        return Link(
            part.text,
            passing[0].concept_id if passing else None,
            best.score if best else None,
            best.name if best else None,
            part.long_form,
            split,
            None if passing else self._reason(part, mention),
            self.fitted.probability(best.score) if best else None,
            part.tie if passing and passing[0] is part.candidates[0] else None,
        )

    def _kb_ents(self, parts: Parts) -> List[Tuple[str, float]]:
        kept = [c for part in parts for c in self._passing(part.candidates)[: self.max_entities_per_mention]]
        kept.sort(key=lambda candidate: -candidate.score)
        best: Dict[str, float] = {}
        for candidate in kept:
            best.setdefault(candidate.concept_id, candidate.score)
        return list(best.items())

    def _passing(self, candidates: Sequence[Candidate]) -> List[Candidate]:
        threshold = self.threshold
        return self.linkable([candidate for candidate in candidates if candidate.score > threshold])

    def linkable(self, candidates: Sequence[Candidate]) -> List[Candidate]:
        """RETURNS (List[Candidate]): those that `filter_for_definitions` lets pass; it is for the threshold to come."""
        if not self.filter_for_definitions:
            return list(candidates)
        return [
            candidate
            for candidate in candidates
            if candidate.score >= self.no_definition_threshold or self._is_defined(candidate.concept_id)
        ]

    def _is_defined(self, concept_id: str) -> bool:
        concept = self.kb.get(concept_id)
        return concept is not None and concept.definition is not None

    def _reason(self, part: LinkedPart, mention: Span) -> str:
        if not part.candidates:
            filter = self._filter(mention)
            asked = [f"{what} {', '.join(names)}" for what, names in filter._asdict().items() if names]
            return "no name is like it" + (f" among {' and '.join(asked)}" if asked else "")
        if part.candidates[0].score <= self.threshold:
            return f"best score {part.candidates[0].score:.2f} is not above the threshold {self.threshold:.2f}"
        return "no candidate above the threshold has a definition"

    def _check_settings(self) -> None:
        if not self._sparse and self._encoder == "none":
            raise SapbertError(Errors.E407)
        check_setting(self, "index", self._encoder != "none" or self._index == "Flat", "'Flat' where encoder is 'none'")
        for setting in ("k", "batch_size", "max_entities_per_mention"):
            check_setting(self, setting, getattr(self, setting) >= 1, "at least 1")
        known = f"one of {', '.join(TEXT_NORMALIZERS)}"
        check_setting(self, "text_normalizer", self._sparse_normaliser in TEXT_NORMALIZERS, known)
        check_setting(self, "spelling", self._spelling != "", "null, 'vocabulary' or the path of a list")
        check_setting(self, "sparse_weight", 0 <= self.sparse_weight < math.inf, "0 or more")
        check_setting(self, "prior_weight", 0 <= self.prior_weight < math.inf, "0 or more")
        check_setting(self, "threshold", 0 <= self.threshold <= 1, "from 0 to 1")
        check_setting(self, "no_definition_threshold", 0 <= self.no_definition_threshold <= 1, "from 0 to 1")
