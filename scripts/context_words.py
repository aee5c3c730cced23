"""Write `spacy_sapbert/text/short_forms/en_contexts.txt`: which words of a text speak for a sense of a short form.

    python scripts/context_words.py DATA

The senses are those of short forms with several senses in `en.txt`. Texts that have a name of the sense are compared
with all texts: abstracts in `documents/`, and the training documents of `corpora/`, whose annotations are not read. The
ids in `splits/development.txt` are left out.
"""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from popularity import abstracts

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.text.common_words import common_words
from spacy_sapbert.text.short_forms import CONTEXTS, short_forms, words_of
from spacy_sapbert.types import Name, Record

CORPORA = ("bc5cdr", "biored", "gnormplus", "ncbi_disease", "nlm_gene", "s800", "tmvar3")
FEWEST = 3  # texts that have a word, or a sense
SMOOTHING = 3.0  # texts that are added to both counts of a word
SHARE = 0.5  # of the logarithm, since the words of a text are no independent witnesses
LEAST = 0.2  # weight

Names = tuple[str, ...]


def training_documents(data: Path) -> list[str]:
    left_out = set((data / "splits/development.txt").read_text(encoding="utf-8").split())
    files = [path for corpus in CORPORA for path in sorted((data / "corpora" / corpus).glob("*.gz"))]
    texts = {document.doc_id: document.text for path in files for document in read_corpus(path, "pubtator")}
    return [text for id, text in texts.items() if id not in left_out]


def senses() -> dict[Names, set[str]]:
    """RETURNS (dict): the names of each sense that shares a short form, with its short forms in lower case."""
    found = defaultdict(set)
    for form, some in short_forms().items():
        for sense in some if len(some) > 1 else ():
            found[sense.names].add(form.lower())
    return found


def matcher(names: Iterable[str], path: Path) -> NameMatcher:
    with new_knowledge_base(path) as builder:
        for number, name in enumerate(sorted(names)):
            builder.add(Record(f"S:{number}", (Name(name, "preferred", "senses"),)))
        builder.finish({})
    return NameMatcher.build(KnowledgeBase(path))


def without(text: str, places: Iterable[tuple[int, int]]) -> str:
    for start, end in places:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def count(
    texts: Sequence[str], forms: Mapping[Names, set[str]], finder: NameMatcher
) -> tuple[Counter[Names], Mapping[Names, Counter[str]]]:
    """RETURNS: how many texts have each sense, and how many of these have each word, but for its names and forms."""
    owners = defaultdict(list)
    for names in forms:
        for name in names:
            owners[name].append(names)
    n, words = Counter[Names](), defaultdict[Names, Counter[str]](Counter)
    for text in texts:
        places = defaultdict(list)
        for start, end, row in finder.find(text):
            for names in owners[finder.kb.name(row)] if text[start:end] not in short_forms() else ():
                places[names].append((start, end))
        for names, some in places.items():
            n[names] += 1
            words[names].update(words_of(without(text, some)) - forms[names])
    return n, words


def learn(texts: Sequence[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the first name of each sense and the weights of words, those that say most first.

    The weight is the logarithm of how many more texts of the sense have the word than texts in general.
    """
    forms = senses()
    with TemporaryDirectory() as folder:
        n, words = count(texts, forms, matcher({name for names in forms for name in names}, Path(folder, "senses.kb")))
    of_all = Counter(word for text in texts for word in words_of(text))
    shares = {
        word: n_texts / len(texts)
        for word, n_texts in of_all.items()
        if n_texts >= FEWEST and len(word) > 2 and word not in common_words()
    }
    for names in sorted(names for names in n if n[names] >= FEWEST):
        weights = {
            word: round(SHARE * math.log((words[names][word] + SMOOTHING) / (n[names] * share + SMOOTHING)), 1)
            for word, share in shares.items()
        }
        order = sorted(weights, key=lambda word, of=weights: (-abs(of[word]), word))  # type: ignore[misc]
        yield names[0], {word: weights[word] for word in order if abs(weights[word]) >= LEAST}


def line(name: str, weights: Mapping[str, float]) -> str:
    groups = defaultdict(list)
    for word, weight in weights.items():
        groups[weight].append(word)
    return "\t".join([name, *(f"{weight:g} {' '.join(words)}" for weight, words in groups.items())]) + "\n"


if __name__ == "__main__":
    data = Path(sys.argv[1])
    lines = [line(*learned) for learned in learn([*abstracts(data), *training_documents(data)])]
    CONTEXTS.write_text("".join(lines), encoding="utf-8")
