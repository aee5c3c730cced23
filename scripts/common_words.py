"""Make the lists of general English words in `spacy_sapbert/text/common_words`.

    python scripts/common_words.py LEXEME_PROB BRILL_LEXICON

LEXEME_PROB is `en_lexeme_prob.json.gz` of the package spacy-lookups-data (MIT), with the frequency of words.
BRILL_LEXICON is `en-lexicon.txt` of the package TextBlob (MIT), with the most frequent part of speech of words.
A word that is rarely a noun does not name a concept ("into", "chronic"). `common_words.yaml` has the exceptions. They
were chosen by hand, among the words that are names in an open vocabulary.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections import Counter
from pathlib import Path

import srsly

FOLDER = Path(__file__).parents[1] / "spacy_sapbert" / "text" / "common_words"
MOST_FREQUENT = 100_000
NOUNS = 12_000
SHORTEST = 3  # shorter names are stop names anyway
EXCEPTIONS = Path(__file__).with_suffix(".yaml")


def frequencies(path: Path) -> Counter[str]:
    """Return the frequency of each word, in lower case."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found: Counter[str] = Counter()
        for word, log_probability in json.load(file).items():
            if word.isascii() and word.isalpha() and len(word) >= SHORTEST:
                found[word.lower()] += math.exp(log_probability)
    return found


def parts_of_speech(path: Path) -> dict[str, str]:
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith(";;;"))
    return {cells[0]: cells[1] for cells in lines if len(cells) > 1 and not cells[0][:1].isupper()}


def main(lexeme_prob: str, lexicon: str) -> None:
    words = [word for word, _ in frequencies(Path(lexeme_prob)).most_common(MOST_FREQUENT)]
    tags = parts_of_speech(Path(lexicon))
    exceptions = {key: set(value.split()) for key, value in srsly.read_yaml(EXCEPTIONS).items()}
    no_nouns = {word for word in words if not tags.get(word, "NN").startswith("NN")}
    stop = sorted((no_nouns | exceptions["mean_something_else"]) - exceptions["mean_a_concept"])
    stop_words = set(stop)
    nouns = [word for word in words[:NOUNS] if word in tags and word not in stop_words]
    for name, found in (("en.txt", stop), ("en_nouns.txt", nouns)):
        (FOLDER / name).write_text("".join(f"{word}\n" for word in found), encoding="utf-8")
        print(f"{name}: {len(found)} words")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
