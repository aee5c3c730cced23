"""`ground`: the candidates of one string, without spaCy and without a pipeline."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from ..errors import OptionError
from ..kb.filters import check_filters
from ..kb.knowledge_base import KnowledgeBase
from ..kb.storage import load_knowledge_base, vocabulary_path
from ..text.abbreviations import AbbreviationOccurrence, expand, find_definitions, find_occurrences
from ..text.composites import composite_splits
from ..text.languages import ENGLISH, rules_of
from ..text.short_forms import find_short_forms
from ..types import Candidate, Link, LinkedPart
from .candidates import CACHE_SIZE, CandidateGenerator
from .linker import Linker, kb_id_of
from .settings import LinkerSettings
from .variants import MentionQuery, MentionVariants

MOST = 10
"""The most candidates of a string."""
_OPENED = 8  # vocabularies, with their vectors
_KEPT = 64  # linkers, one for each choice of types, and the short forms of contexts


def ground(
    text: str,
    context: str = "",
    *,
    types: Sequence[str] | None = None,
    kb: str | Path | KnowledgeBase = "starter",
    language: str = ENGLISH.code,
) -> list[Candidate]:
    """Return the concepts that a string may mean, as `sapbert_linker` scores them with its default settings.

    No spaCy and no pipeline is needed. The first string opens the vocabulary, and a string that was given before is
    only looked up.

    Args:
        text: The string, such as a mention, a cell of a table or a search term. Where it is composite, the best
            candidates of all its parts come first.
        context: The text around it. It serves the abbreviations that it defines, and the short forms of clinical notes
            whose sense it shows, if the vocabulary has that sense.
        types: Only concepts of these types. None allows all.
        kb: "starter", the path of a knowledge base, the folder of a saved pipeline for its vocabulary, or an open
            knowledge base.
        language: The language of the string: "de", "en", "es" or "fr".

    Returns:
        At most `MOST` candidates, best first. A pipeline would not link the string to one with a `refusal`, which says
        why. The first candidates have a `probability`. `rewrite` has the long form or the part of the string that was
        looked up, and why the order of the scores was changed.

    Raises:
        NotFoundError: There is no such file.
        DamagedError: The file is not a knowledge base.
        ChoiceError: The vocabulary has no such type, or the language has no rules.
        OptionError: An argument has another type, such as the number that pandas has for an empty cell.
    """
    return list(_checked(text, context, types, kb, language)[1])


def ground_record(
    text: str, context: str, types: Sequence[str] | None, kb: KnowledgeBase, language: str = ENGLISH.code
) -> dict[str, Any]:
    """Return "text", "kb_id" as a pipeline would set it, and "candidates" with names and types, see `ground`."""
    kb_id, candidates = _checked(text, context, types, kb, language)
    labels = kb.labels_of([candidate.concept_id for candidate in candidates])
    rows = []
    for candidate in candidates:
        label, grade = labels[candidate.concept_id], candidate.grade.name.lower().replace("_", " ")
        values = {**candidate._asdict(), "grade": grade}
        rows.append({**values, "preferred_name": label.preferred, "types": list(label.types)})
    return {"text": text, "kb_id": kb_id, "candidates": rows}


def _checked(
    text: str, context: str, types: Sequence[str] | None, kb: str | Path | KnowledgeBase, language: str
) -> tuple[str, tuple[Candidate, ...]]:
    """Return the id of the string in a pipeline, and the candidates."""
    _check("text", text, str)
    _check("context", context, str)
    _check("kb", kb, (str, os.PathLike, KnowledgeBase))
    _check("types", types or (), Iterable)
    sorted_types = (types,) if isinstance(types, str) else tuple(sorted(types or (), key=str))
    for type_ in sorted_types:
        _check("types", type_, str)
    opened = kb if isinstance(kb, KnowledgeBase) else _opened(path := vocabulary_path(kb), _state(path))
    # bytes of a path or an argument that are no UTF-8 are halves of surrogate pairs, which cannot be encoded
    readable, around = (given.encode(errors="replace").decode() for given in (text, context))
    return _ground(readable, around, sorted_types, opened, language)


def _check(argument: str, value: object, expected: Any) -> None:
    if not isinstance(value, expected):
        reason = f"{value!r} is {type(value).__name__}, not text" if expected is str else f"it cannot be {value!r}"
        raise OptionError(option=f"The argument {argument}", reason=reason)


@lru_cache(maxsize=CACHE_SIZE)
def _ground(
    text: str, context: str, types: tuple[str, ...], kb: KnowledgeBase, language: str
) -> tuple[str, tuple[Candidate, ...]]:
    linker = starter_linker(kb, types, language)
    ((parts,),) = linker.link([[MentionQuery(_variants(text, context, linker))]])
    links = linker.links(parts)
    of_parts = (_explained(text, part, link) for part, link in zip(parts, links, strict=True))
    best: dict[str, Candidate] = {}
    for candidate in filter(None, chain.from_iterable(zip_longest(*of_parts))):
        best.setdefault(candidate.concept_id, candidate)
    return kb_id_of(links), tuple(islice(best.values(), MOST))


def _explained(text: str, part: LinkedPart, link: Link) -> Iterator[Candidate]:
    """Yield the candidates of a part of a string with what was looked up, and why there is no link."""
    looked_up = f"read as “{part.text}”" if part.text != text else None
    reasons, refusal = part.reasons, link.reason
    for candidate in part.candidates:
        rewrite = "; ".join(filter(None, (looked_up, candidate.rewrite, *reasons))) or None
        yield candidate._replace(rewrite=rewrite, refusal=candidate.refusal or refusal)
        reasons, refusal = (), refusal and f"“{link.name}” is more likely, and is not linked"


# --- the string in its context


def _variants(text: str, context: str, linker: Linker) -> MentionVariants:
    """Return the variants of a string, as the components before a linker find them in a document."""
    rules = linker.rules
    inside = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", context) if context else None
    document, start = (context, inside.start()) if inside else (f"{context}\n{text}", len(context) + 1)
    end = start + len(text)
    occurrences = _occurrences(document, rules.code) if context else []
    known = [occurrence for occurrence in occurrences if _has_sense(linker.kb, occurrence)]
    expanded = expand(document, start, end, known, rules)
    forms = dict.fromkeys((expanded, text))
    return MentionVariants(
        text,
        expanded if expanded != text else None,
        list(dict.fromkeys(split for form in forms for split in composite_splits(form, rules=rules))),
        long_forms=next((names for first, last, *_, names in known if (first, last) == (start, end)), ()),
    )


@lru_cache(maxsize=_KEPT)
def _occurrences(document: str, language: str) -> list[AbbreviationOccurrence]:
    """Return the short forms that a document defines, and those of clinical notes, for all strings of the document."""
    clinical = [form for form in find_short_forms(document) if form.is_clear] if language == ENGLISH.code else []
    return find_occurrences(document, find_definitions(document, rules=rules_of(language)), clinical=clinical)


def _has_sense(kb: KnowledgeBase, occurrence: AbbreviationOccurrence) -> bool:
    """Return whether a short form is defined, or its clinical sense is in the vocabulary: no gene is a room."""
    spellings = {case(name) for name in occurrence.names for case in (str, str.lower, str.capitalize, str.title)}
    return not spellings or bool(kb.rows_of_names(spellings))


# --- what is opened once


def _state(path: Path) -> tuple[int, ...]:
    """Return what changes when the file of a knowledge base is replaced."""
    with suppress(OSError, ValueError):
        state = os.stat(path)
        return state.st_mtime_ns, state.st_size, state.st_ino
    return ()


@lru_cache(maxsize=_OPENED)
def _opened(path: Path, state: tuple[int, ...]) -> KnowledgeBase:
    return load_knowledge_base(path)


@lru_cache(maxsize=_OPENED)
def _generator(kb: KnowledgeBase) -> CandidateGenerator:
    from ..encoders.encoder import open_encoder
    from ..encoders.folder import STARTER
    from ..vectors.faiss_index import AUTO
    from .storage import open_generator

    return open_generator(kb, open_encoder(STARTER), sparse=True, index=AUTO)


@lru_cache(maxsize=_KEPT)
def starter_linker(kb: KnowledgeBase, types: tuple[str, ...], language: str) -> Linker:
    """Return a linker with the starter encoder and the default settings. Equal arguments give the same one."""
    check_filters(kb, types, ())
    return Linker(_generator(kb), LinkerSettings(types=list(types)), rules=rules_of(language))
