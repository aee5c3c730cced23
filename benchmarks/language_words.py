"""Measure how the rules of a language fold the forms of words, against lemmas and against two libraries.

The words are the most frequent ones of the language; of French, without frequencies there, the first of the list.
Their lemmas come from the package `spacy-lookups-data` (MIT). `folded` is the share of other forms of nouns and
adjectives that are folded together with their lemma. `wrong` counts the pairs of words with different lemmas that are
folded together, and `examples` shows the most frequent of them. `names` counts the names of an English and Spanish
vocabulary that become equal to a name of another concept.

The columns: `case` folds only the case, `accents` also accents and other spellings, `rules` is what the package does.
`snowball` and `simplemma` are the libraries, after the folding of accents, if they are installed.

    python benchmarks/language_words.py --lemmas FOLDER [--data FOLDER] [--words 60000]
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from common import new_parser

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.text.languages import LanguageRules, rules_of

LANGUAGES = {"de": "german", "es": "spanish", "fr": "french"}
TRANSLATIONS = ("hpo/hp-es.babelon.tsv.gz", "doid/doid-es-translated.tsv.gz")
EXAMPLES = 12

Fold = Callable[[str], str]


def read(folder: Path, name: str) -> Any:
    path = folder / f"{name}.json.gz"
    return json.loads(gzip.decompress(path.read_bytes())) if path.is_file() else {}


class Lemmas(NamedTuple):
    """The lemma of each form, in lower case, and the lemmas that are nouns or adjectives."""

    of: dict[str, str]
    nouns: set[str]


def lemmas(folder: Path, language: str) -> Lemmas:
    table = {
        form: lemma if isinstance(lemma, str) else lemma[0]
        for form, lemma in read(folder, f"{language}_lemma_lookup").items()
    }
    index = read(folder, f"{language}_lemma_index")
    nouns = {*index["noun"], *index["adj"]} if index else {lemma for lemma in table.values() if lemma[:1].isupper()}
    of = {form.lower(): lemma.lower() for form, lemma in table.items()}
    return Lemmas({**{lemma: lemma for lemma in of.values()}, **of}, set(map(str.lower, nouns)))


def frequent(folder: Path, language: str, n: int) -> list[str]:
    """Return the most frequent words of letters, in lower case."""
    listed = read(folder, f"{language}_lexeme_prob") or read(folder, f"{language}_lemma_lookup")
    return list(dict.fromkeys(word.lower() for word in listed if word.isalpha() and len(word) > 2))[:n]


def folds(rules: LanguageRules) -> dict[str, Fold]:
    spell, singular = rules.words.spell, rules.words.singular
    found: dict[str, Fold] = {"case": str.lower, "accents": spell, "rules": lambda word: singular(spell(word))}
    try:
        import simplemma  # type: ignore[import-not-found, unused-ignore]
        import snowballstemmer  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return found
    stem = snowballstemmer.stemmer(LANGUAGES[rules.code]).stemWord
    lemmatize = partial(simplemma.lemmatize, lang=rules.code)
    return {**found, "snowball": lambda word: spell(stem(word)), "simplemma": lambda word: spell(lemmatize(word))}


def measure(words: list[str], lemmas: Lemmas, fold: Fold, spell: Fold) -> dict[str, Any]:
    nouns = lemmas.nouns & set(words)
    forms = [(word, lemma) for word in words if (lemma := lemmas.of[word]) != word and lemma in nouns]
    groups = defaultdict(list)
    for word in words:
        groups[fold(word)].append(word)
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    wrong = [(one, other) for one, other in pairs if spell(lemmas.of[one]) != spell(lemmas.of[other])]
    rank = {word: place for place, word in enumerate(words)}
    wrong.sort(key=lambda pair: rank[pair[1]])
    folded = sum(fold(form) == fold(lemma) for form, lemma in forms)
    return {
        "forms": len(forms),
        "folded": round(100 * folded / len(forms), 1),
        "pairs": len(pairs),
        "wrong": len(wrong),
        "examples": [" ".join(pair) for pair in wrong[:EXAMPLES]],
    }


def equal_names(kb: KnowledgeBase, fold: Fold, rules: LanguageRules) -> dict[str, Any]:
    """Count the names with the same words as a name of another concept, that has another text."""
    owners: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for concept_id in kb.concept_ids():
        for name in kb.names_of(concept_id):
            found = rules.words.pattern.findall(name.text)
            kept = [word for word in found if word.lower() not in rules.words.function_words]
            owners[tuple(sorted(map(fold, kept)))][name.text.lower()].add(concept_id)
    mixed = [texts for texts in owners.values() if len(texts) > 1 and len(set.union(*texts.values())) > 1]
    return {
        "names": kb.n_names,
        "mixed": len(mixed),
        "examples": [" = ".join(list(texts)[:2]) for texts in mixed[:EXAMPLES]],
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--lemmas", type=Path, required=True, help="The folder `data` of spacy-lookups-data.")
    parser.add_argument("--words", type=int, default=60_000)
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for language in LANGUAGES:
        known, rules = lemmas(arguments.lemmas, language), rules_of(language)
        words = [word for word in frequent(arguments.lemmas, language, arguments.words) if word in known.of]
        spell = rules.words.spell
        results[language] = {name: measure(words, known, fold, spell) for name, fold in folds(rules).items()}
    with TemporaryDirectory() as folder:
        records = (
            record
            for path in TRANSLATIONS
            for record in read_vocabulary(arguments.data / "vocabularies" / path, "babelon", report=ReadReport())
        )
        kb = build_knowledge_base(records, Path(folder) / "names.kb")
        rules = rules_of("es")
        results["names"] = {name: equal_names(kb, fold, rules) for name, fold in folds(rules).items()}
    print(json.dumps(results, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
