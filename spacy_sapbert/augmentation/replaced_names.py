"""Copies of training documents in which mentions have other names, for an NER that finds names it has never seen."""

# no postponed annotations here: spaCy could not check the settings of a registered function

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate, chain, groupby

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..documents.docs import ANNOTATED_TYPES, UNSURE, annotated_labels, unsure_spans
from ..errors import Errors, TrainingDataError
from ..kb.storage import load_knowledge_base

Shape = tuple[str, int]
"""Of a name: its runs of small letters, capitals, digits and other characters, and about how long it is."""


def replaced_names(kbs: dict[str, str]) -> Callable[[Language, Example], Iterator[Example]]:
    """Make `spacy-sapbert.ReplacedNames.v1`: give each training document, and a copy of it with other names.

    In the copy, each mention has another name of its type, drawn at random from those of the same shape: a word for a
    word of about the same length, a symbol for a symbol such as "TP53". Mentions with the same text get the same name.
    Where no name has the shape, a mention stays. So does one of capitals alone: most are short forms, and a network
    that learned others would find a chemical in each.

    A document without a name to replace is given twice, so that each corpus keeps its share of the training.

    Args:
        kbs: For each label to replace, the knowledge base with the names: those of its concepts that have the label as
            a type.

    Raises:
        TrainingDataError: E644 a knowledge base has no name of the type.
    """
    return partial(_with_copy, {label: _names_by_shape(label, kb) for label, kb in kbs.items()})


def _names_by_shape(label: str, path: str) -> Mapping[Shape, list[str]]:
    kb = load_knowledge_base(path)
    rows = np.unique(kb.name_concepts.names[kb.matching_entries([label])])
    names: dict[Shape, list[str]] = defaultdict(list)
    for name in map(_uncapitalized, kb.names_at(np.setdiff1d(rows, kb.stop_name_rows()).tolist())):
        names[_shape(name)].append(name)
    if not names:
        raise TrainingDataError(Errors.E644.format(path=path, label=label, types=", ".join(kb.type_counts())))
    return dict(names)


def _uncapitalized(name: str) -> str:
    return name[0].lower() + name[1:] if name[1:] == name[1:].lower() else name


def _shape(name: str) -> Shape:
    kinds = ("a" if char.islower() else "A" if char.isupper() else "0" if char.isdigit() else char for char in name)
    return "".join(kind for kind, _ in groupby(kinds)), len(name).bit_length()


def _with_copy(names: Mapping[str, Mapping[Shape, list[str]]], nlp: Language, example: Example) -> Iterator[Example]:
    drawn: dict[tuple[str, str], str] = {}
    texts: dict[Span, str] = {}
    for entity in example.reference.ents:
        text = _uncapitalized(entity.text)
        choices = () if text.isalpha() and text.isupper() else names.get(entity.label_, {}).get(_shape(text))
        if choices:
            name = drawn.setdefault((entity.label_, text), random.choice(choices))
            texts[entity] = name[0].upper() + name[1:] if entity.text[0].isupper() else name
    copy = _with_texts(nlp, example.reference, texts)
    yield from (example, Example(nlp.make_doc(copy.text), copy))


def _with_texts(nlp: Language, doc: Doc, texts: Mapping[Span, str]) -> Doc:
    """Copy an annotated document, with its unsure spans and annotated types, and with other texts of some entities."""
    tokens = [[(token.text, token.whitespace_)] for token in doc]
    for span, text in texts.items():
        made = nlp.make_doc(text + doc[span.end - 1].whitespace_)
        tokens[span.start : span.end] = [[] for _ in span]
        tokens[span.start] = [(token.text, token.whitespace_) for token in made]
    starts = [0, *accumulate(map(len, tokens))]
    flat = list(chain.from_iterable(tokens))
    copy = Doc(doc.vocab, [word for word, _ in flat], [bool(space) for _, space in flat])

    def moved(spans: Iterable[Span]) -> list[Span]:
        return [Span(copy, starts[span.start], starts[span.end], span.label) for span in spans]

    copy.set_ents(moved(doc.ents), missing=moved(doc[token.i : token.i + 1] for token in doc if not token.ent_iob))
    copy.spans[UNSURE] = moved(unsure_spans(doc))
    if (annotated := annotated_labels(doc)) is not None:
        copy.user_data[ANNOTATED_TYPES] = annotated
    return copy
