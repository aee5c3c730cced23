"""Classify the wrong links of a pipeline, and report them in a file.

Most classes are named as in BioSyn's error analysis (Sung et al. 2020, Table 5). The rules that assign them are our
own, so the shares cannot be compared with the paper's. A mention that is wrong by the lenient measure gets the first
class that fits. The rules look at its first wrong part and at the gold concepts that no other part matches. Names and
words are compared without case, plural, word order and function words ("of").

- *composite* (not in the paper): the number of parts differs from the number of gold concepts. The mention was split
  wrongly, or wrongly not split.
- *abbreviation*: the looked-up text has a short form that is in no name of the gold concept. Perhaps the text does not
  define it, the resolver missed the definition, or the linker preferred the short form.
- *homonym* (not in the paper): the looked-up text is a name of the predicted concept and of the gold concept.
- *contextual*: it is a name of the predicted concept, and not of the gold concept. Only the context or the annotation
  guideline could decide.
- *incomplete synset*: the gold concept has no similar name. It is not among the first 20 candidates, or no word of its
  names starts like a word of the looked-up text.
- *hypernym*, *hyponym*: the predicted concept is an ancestor, or a descendant, of the gold concept by `is_a`. A
  vocabulary without relations has none of these.
- *overlapping*: the looked-up text has all words of the predicted name or of a gold name, and more; or the reverse.
- *other*: the gold concept has a similar name, but another name scored higher. Mentions that are not spans of tokens
  are also here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language

from ..files.opening import without_gz
from ..files.output import open_output
from ..files.values import table_lines
from ..kb.filters import ancestors
from ..kb.knowledge_base import KnowledgeBase
from ..metrics.counts import percent
from ..metrics.linking_accuracy import RECALL_CUTOFF, MentionScore, gold_concepts, lenient_at
from ..text.abbreviations import MAX_LETTERS
from ..text.normalize import biosyn
from ..text.words import word_keys
from ..types import NIL, Concept, LinkedPart
from .running import LinkedMention, find_linker, predictions_file

COLUMNS = (
    *("doc_id", "start", "end", "mention", "long_form", "gold", "gold_names", "predicted", "matched_names", "scores"),
    *("rank", "class", "relation", "why"),
)
EXAMPLES = 2

_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


class LinkingError(NamedTuple):
    """A mention with a wrong link.

    Attributes:
        part: The first wrong part. None if the mention could not be looked up.
        gold: The concepts that would be right for that part.
        predicted: The concept that the part was linked to. None if no name is similar.
        relation: "ancestor" or "descendant", if the predicted concept is one of a gold concept.
        rank: The smallest k at which the mention is right by the lenient measure, if there is one.
    """

    linked: LinkedMention
    n_gold: int
    part: LinkedPart | None
    gold: tuple[Concept, ...]
    predicted: Concept | None
    relation: str | None
    rank: int | None


# --- a corpus


class ErrorReport:
    """Classifies wrong mentions, writes them to a file and counts them. Call it with every mention of a corpus.

    Attributes:
        examples: The first two errors of each class, with different mentions.
        has_relations: Whether the vocabulary has `is_a` relations.
    """

    def __init__(self, kb: KnowledgeBase, write: Callable[[Mapping[str, Any]], object]) -> None:
        self._kb = kb
        self._get = lru_cache(maxsize=100_000)(kb.get)
        self._ids = lru_cache(maxsize=100_000)(lambda concept_id: frozenset(kb.ids(concept_id)))
        self._ancestors = lru_cache(maxsize=10_000)(lambda concept_id: ancestors(concept_id, kb, self._get))
        self._write = write
        self._counts: Counter[str] = Counter()
        self.examples: dict[str, list[LinkingError]] = defaultdict(list)
        self.has_relations = bool(kb.query("SELECT 1 FROM parents LIMIT 1"))

    def __call__(self, linked: LinkedMention, score: MentionScore) -> None:
        if not score.covered or score.lenient[1]:
            return
        error = self._judge(linked)
        name, why = classify(error)
        self._counts[name] += 1
        examples = self.examples[name]
        texts = [example.linked.mention.text.casefold() for example in examples]
        if len(texts) < EXAMPLES and linked.mention.text.casefold() not in texts:
            examples.append(error)
        self._write(self._line(error, name, why))

    def summary(self) -> dict[str, dict[str, float | None]]:
        """Return the count `n` of each class and its `share` of the errors in percent; None if there are no errors."""
        total, counts = self._counts.total(), self._counts
        shares = {name: percent(counts[name] / total if total else None) for name in CLASSES}
        return {name: {"n": counts[name], "share": share} for name, share in shares.items()}

    def _line(self, error: LinkingError, name: str, why: str) -> dict[str, Any]:
        mention = error.linked.mention
        position = {"doc_id": error.linked.doc_id, "start": mention.start, "end": mention.end}
        return {
            **position,
            "mention": mention.text,
            "long_form": error.linked.long_form,
            "gold": [{"id": id, "name": self._all([[id]])[0].canonical_name} for id in mention.ids],
            "predicted": [_first(part) for part in error.linked.parts],
            "rank": error.rank,
            "class": name,
            "relation": error.relation,
            "why": why,
        }

    def _judge(self, linked: LinkedMention) -> LinkingError:
        """Describe the error of a mention whose gold ids the knowledge base has."""
        gold = gold_concepts(linked.mention.ids, self._kb.find_id)
        ids = [[self._ids(candidate.concept_id) for candidate in part.candidates] for part in linked.parts]
        wrong = [number for number, candidates in enumerate(ids) if not lenient_at(1, gold, [candidates])]
        if not wrong:
            return LinkingError(linked, len(gold), None, self._all(gold), None, None, None)
        right = [candidates[0] for number, candidates in enumerate(ids) if candidates and number not in wrong]
        others = frozenset().union(*right)
        missing = self._all([group for group in gold if not group & others] or gold)
        part = linked.parts[wrong[0]]
        predicted = self._get(part.candidates[0].concept_id) if part.candidates else None
        ranks = range(1, max(map(len, ids)) + 1)
        rank = next((k for k in ranks if lenient_at(k, gold, ids)), None)
        return LinkingError(linked, len(gold), part, missing, predicted, self._relation(predicted, missing), rank)

    def _all(self, groups: Iterable[Iterable[str]]) -> tuple[Concept, ...]:
        ids = (concept_id for group in groups for concept_id in sorted(group))
        primary_ids = dict.fromkeys(primary for concept_id in ids for primary in self._kb.find_id(concept_id))
        return tuple(concept for concept_id in primary_ids if (concept := self._get(concept_id)))

    def _relation(self, predicted: Concept | None, gold: Collection[Concept]) -> str | None:
        if predicted is None:
            return None
        if any(predicted.concept_id in self._ancestors(concept.concept_id) for concept in gold):
            return "ancestor"
        below = any(concept.concept_id in self._ancestors(predicted.concept_id) for concept in gold)
        return "descendant" if below else None


@contextmanager
def error_report(nlp: Language, path: Path) -> Iterator[ErrorReport]:
    """Yield a report of the errors of a pipeline's linker, to pass to `evaluate_linking` as `each`.

    The file appears when the block ends without an error. It is a table if its name ends in `.tsv`, or else JSON lines.
    It is gzipped if `.gz` follows.
    """
    kb = find_linker(nlp).kb
    if without_gz(path).suffix.lower() != ".tsv":
        with predictions_file(path) as write_line:
            yield ErrorReport(kb, write_line)
        return
    with open_output(path) as write:
        write("".join(table_lines([COLUMNS], quoted=False)))
        yield ErrorReport(kb, lambda line: write("".join(table_lines([_cells(line)], quoted=False))))


def _first(part: LinkedPart) -> dict[str, Any]:
    """Return the first candidate of a part, with None if no name is similar."""
    concept_id, score, name, *_ = part.candidates[0] if part.candidates else (None,) * 3
    return {"text": part.text, "id": concept_id, "name": name, "score": score}


def _cells(line: Mapping[str, Any]) -> Iterator[object]:
    """Yield the cells of a table row; several values in a cell are joined by `|`."""
    several = {
        "gold": [gold["id"] for gold in line["gold"]],
        "gold_names": [gold["name"] for gold in line["gold"]],
        "predicted": [top["id"] or NIL for top in line["predicted"]],
        "matched_names": [top["name"] or "" for top in line["predicted"]],
        "scores": [f"{top['score'] or 0:.4f}" for top in line["predicted"]],
    }
    for column in COLUMNS:
        yield "|".join(several[column]) if column in several else line[column]


# --- one error


def classify(error: LinkingError) -> tuple[str, str]:
    """Return the first of `CLASSES` that fits, and an explanation for people."""
    if error.part is None:
        return OTHER, "the mention is not a span of tokens, so it could not be looked up"
    for name, rule in _RULES.items():
        if why := rule(error, error.part):
            return name, why
    return OTHER, _outscored(error, error.part)


# --- the classes


def _composite(error: LinkingError, part: LinkedPart) -> str | None:
    n_parts = len(error.linked.parts)
    outcome = "not split" if n_parts == 1 else f"split into {n_parts} parts"
    return f"{outcome}, but the number of concepts is {error.n_gold}" if n_parts != error.n_gold else None


def _abbreviation(error: LinkingError, part: LinkedPart) -> str | None:
    if part.text.isupper() and len(part.text) > MAX_LETTERS:  # a heading
        return None
    known = {word for concept in error.gold for name in _names(concept) for word in biosyn(name).split()}
    for token in _TOKEN.findall(part.text):
        if _is_short_form(token) and not known.issuperset(biosyn(token).split()):
            defined = f", not its long form: {long}" if (long := error.linked.long_form) else ""
            return f"the short form '{token}' was looked up{defined}"
    return None


def _is_short_form(token: str) -> bool:
    upper, lower = sum(map(str.isupper, token)), sum(map(str.islower, token))
    return 2 <= upper >= lower and len(token) <= MAX_LETTERS and not re.fullmatch("[IVX]+", token)


def _homonym(error: LinkingError, part: LinkedPart) -> str | None:
    concepts = [concept for concept in error.gold if _has_name(concept, part.text)]
    if not concepts or not _has_name(error.predicted, part.text):
        return None
    return f"'{part.text}' is a name of {_labels([error.predicted])} and of {_labels(concepts)}"


def _contextual(error: LinkingError, part: LinkedPart) -> str | None:
    if not _has_name(error.predicted, part.text):
        return None
    return f"'{part.text}' is a name of {_labels([error.predicted])}, and not of {_labels(error.gold)}"


def _incomplete_synset(error: LinkingError, part: LinkedPart) -> str | None:
    right = {concept.concept_id for concept in error.gold}
    if not any(candidate.concept_id in right for candidate in part.candidates[:RECALL_CUTOFF]):
        return f"{_labels(error.gold)} is not among the first {RECALL_CUTOFF} candidates of '{part.text}'"
    stems = _stems(part.text)
    if any(stems & _stems(name) for concept in error.gold for name in _names(concept)):
        return None
    return f"no name of {_labels(error.gold)} has a word similar to one of '{part.text}'"


def _related(error: LinkingError, part: LinkedPart, *, relation: str) -> str | None:
    why = f"{_labels([error.predicted])} is {relation} of {_labels(error.gold)}"
    return why if error.relation == relation.split()[-1] else None


def _overlapping(error: LinkingError, part: LinkedPart) -> str | None:
    for name in (part.candidates[0].name, *(name for concept in error.gold for name in _names(concept))):
        for more, less in ((part.text, name), (name, part.text)):
            if set(word_keys(more)) > set(word_keys(less)) > set():
                return f"'{more}' has all words of '{less}', and more"
    return None


def _outscored(error: LinkingError, part: LinkedPart) -> str:
    right = {concept.concept_id for concept in error.gold}
    top, gold = part.candidates[0], next(candidate for candidate in part.candidates if candidate.concept_id in right)
    return f"'{gold.name}' of the right concept scored {gold.score:.4f}, '{top.name}' {top.score:.4f}"


_RULES: dict[str, Callable[[LinkingError, LinkedPart], str | None]] = {
    "composite": _composite,
    "abbreviation": _abbreviation,
    "homonym": _homonym,
    "contextual": _contextual,
    "incomplete synset": _incomplete_synset,
    "hypernym": partial(_related, relation="an ancestor"),
    "hyponym": partial(_related, relation="a descendant"),
    "overlapping": _overlapping,
}
OTHER = "other"
CLASSES = (*_RULES, OTHER)


# --- names


def _names(concept: Concept) -> tuple[str, ...]:
    return concept.canonical_name, *concept.aliases


def _has_name(concept: Concept | None, text: str) -> bool:
    words = word_keys(text)
    return bool(words) and concept is not None and any(word_keys(name) == words for name in _names(concept))


def _labels(concepts: Iterable[Concept | None]) -> str:
    return " or ".join(f"{concept.canonical_name} ({concept.concept_id})" for concept in concepts if concept)


def _stems(text: str) -> set[str]:
    return {word[:5] for word in word_keys(text)}  # derived words mostly share them: thrombotic, thrombosis
