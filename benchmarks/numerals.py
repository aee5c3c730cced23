"""Measure whether a name with another number, or with the opposite word, is ever linked in place of the one meant.

The texts are made from the names of vocabularies:

- rewritten: a name with its numeral written in another way: "type 2" as "type II" or "type two", and the other way
  round. It must be linked to the concept of the name.
- unknown: a name with a number that no name of the series has ("type 40"). It must not be linked to another number.
- opposite: a name with a word replaced by its opposite ("increased" by "decreased"). It must not be linked to the
  concept of the name.

A text that is a name is left out. Links to a name without any number are counted apart: they may be right. If the
folder of the data has phrases with directions, and a vocabulary has their ids, these are measured, too.

    python benchmarks/numerals.py KB … [--encoder NAME|FOLDER|none] [--sample 400] [--seed 0] [--wrong FILE]
"""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from common import new_parser, open_linker

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants
from spacy_sapbert.text.words import joined_letters, read_words
from spacy_sapbert.types import Link

_ROMAN_ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_WRITTEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PHRASES = ("directions", "everyday_findings")
ROMAN = {tens + ones: 10 * n + m for n, tens in enumerate(("", "X")) for m, ones in enumerate(_ROMAN_ONES)}
WRITTEN = {word: n for n, word in enumerate(_WRITTEN, start=1)}
ARABIC_TO = {"roman": {n: word for word, n in ROMAN.items()}, "written": {n: word for word, n in WRITTEN.items()}}
# a numeral after a word and a blank: not a locant, nor a part of a symbol; "X" is mostly the chromosome
NUMERAL = re.compile(r"(?<=[A-Za-z] )(?:(?!X\b)[IVX]+|[1-9]|1\d|20)(?![\w+/-]|[.,]\d)")
GLUED = re.compile(r"(?<=[A-Za-z])\d{1,2}$")  # the number of a symbol: "KIF9"
NUMBER = re.compile(r"\d+|(?<![A-Za-z])[IVX]+(?![A-Za-z])")
PAIRS = (
    "increased decreased; high low; elevated reduced; large small; long short; thick thin; left right; acute chronic; "
    "anterior posterior; upper lower; superior inferior; proximal distal; medial lateral; dorsal ventral; internal "
    "external; benign malignant; dominant recessive; congenital acquired; male female; deletion duplication; gain loss;"
    " central peripheral; systolic diastolic; maternal paternal; unilateral bilateral; positive negative; hyper hypo"
)
OPPOSITES = {word: other for pair in PAIRS.split("; ") for a, b in [pair.split()] for word, other in ((a, b), (b, a))}
_OPPOSITE = re.compile(rf"\b(?:(?:{'|'.join(OPPOSITES)})\b|hyper(?=[a-z]{{4}})|hypo(?=[a-z]{{4}}))", re.IGNORECASE)


class Case(NamedTuple):
    """A text made from a name. `numbers` are those of the text."""

    name: str
    text: str
    numbers: frozenset[int]


def value(numeral: str) -> int:
    return int(numeral) if numeral.isdecimal() else ROMAN.get(numeral, 0)


def numbers(name: str) -> frozenset[int]:
    written = {WRITTEN[word] for word in name.lower().split() if word in WRITTEN}
    return frozenset({value(numeral) for numeral in NUMBER.findall(name)} | written)


def series_of(names: Iterable[str]) -> dict[str, set[int]]:
    """Return the numbers of each series of names, which are equal but for one number."""
    series: dict[str, set[int]] = defaultdict(set)
    for name in names:
        for found in (*NUMERAL.finditer(name), *GLUED.finditer(name)):
            series[template(name, found)].add(value(found[0]))
    return series


def template(name: str, found: re.Match[str]) -> str:
    return f"{name[: found.start()]}#{name[found.end() :]}".casefold()


def rewritten(names: Iterable[str]) -> Iterator[Case]:
    for name in names:
        for found in NUMERAL.finditer(name):
            n = value(found[0])
            others = [words[n] for words in ARABIC_TO.values() if n in words] if found[0].isdecimal() else [str(n)]
            for other in others:
                yield Case(name, name[: found.start()] + other + name[found.end() :], numbers(name))


def unknown(kb: KnowledgeBase, names: Iterable[str], series: dict[str, set[int]], rng: random.Random) -> Iterator[Case]:
    for name in names:
        found = NUMERAL.search(name) or GLUED.search(name)
        if found is None:
            continue
        own = {match for id in kb.find_name(name) for other in kb.names_of(id) for match in series_of([other.text])}
        used = set().union(numbers(name), *(series[other] for other in own | {template(name, found)}))
        free = [number for number in range(2, 100) if number not in used]
        if not free:
            continue
        n = rng.choice(free)
        roman = ARABIC_TO["roman"].get(n) if not found[0].isdecimal() else None
        text = name[: found.start()] + (roman or str(n)) + name[found.end() :]
        yield Case(name, text, numbers(text))


def opposite(names: Iterable[str]) -> Iterator[Case]:
    for name in names:
        if found := _OPPOSITE.search(name):
            word = OPPOSITES[found[0].lower()]
            word = word.capitalize() if found[0][0].isupper() else word
            yield Case(name, name[: found.start()] + word + name[found.end() :], numbers(name))


def folded(text: str) -> tuple[str, ...]:
    """Return the sorted words of a text, its numerals in digits. They can be those of another name in another order."""
    in_digits = NUMERAL.sub(lambda found: str(value(found[0])), text)
    return read_words(in_digits).ordered


def links_of(linker: Linker, texts: list[str]) -> list[tuple[Link, str | None]]:
    """Return the link of each text, and the concept of the first candidate."""
    mentions = [found for (found,) in linker.link([[MentionQuery(MentionVariants(text))] for text in texts])]
    firsts = (parts[0].candidates[0].concept_id if parts[0].candidates else None for parts in mentions)
    return [(linker.links(parts)[0], first) for parts, first in zip(mentions, firsts, strict=True)]


def outcome(kb: KnowledgeBase, case: Case, link: Link, *, may_be_right: bool) -> str:
    if link.concept_id is None:
        return "none"
    if link.concept_id in kb.find_name(case.name):
        return "right" if may_be_right else "opposite"
    theirs = numbers(link.name or "")
    if case.numbers & theirs or not theirs | case.numbers:
        return "other"
    return "another number" if theirs else "no number"


def measure(linker: Linker, cases: list[Case], kind: str, wrong: list[dict[str, Any]]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    first_right = 0
    for case, (link, first) in zip(cases, links_of(linker, [case.text for case in cases]), strict=True):
        owners = linker.kb.find_name(case.name)
        first_right += first in owners
        result = outcome(linker.kb, case, link, may_be_right=kind == "rewritten")
        if kind == "unknown" and result == "opposite":
            result = "another number" if numbers(link.name or "") else "no number"
        counts[result] += 1
        wrong.append({"kind": kind, "outcome": result, **case._asdict(), "linked": link.name, "score": link.score})
    shares = {name: round(100 * n / max(len(cases), 1), 1) for name, n in counts.most_common()}
    return {"n": len(cases), "acc@1": round(100 * first_right / max(len(cases), 1), 1), "links": shares}


def phrases(linker: Linker, path: Path) -> dict[str, Any] | None:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    rows = [(text, id) for text, id in rows if linker.kb.find_id(id)]
    if not rows:
        return None
    results = links_of(linker, [text for text, _ in rows])
    gold = [set(linker.kb.find_id(id)) for _, id in rows]
    return {
        "n": len(rows),
        "acc@1": round(100 * sum(first in ids for (_, first), ids in zip(results, gold, strict=True)) / len(rows), 1),
        "right": sum(link.concept_id in ids for (link, _), ids in zip(results, gold, strict=True)),
        "wrong": {
            text: f"{link.name} {link.score:.2f}"
            for (text, _), (link, _), ids in zip(rows, results, gold, strict=True)
            if link.concept_id not in {None, *ids}
        },
    }


def measure_vocabulary(linker: Linker, data: Path, sample: int, seed: int, wrong: list[dict[str, Any]]) -> Any:
    kb, rng = linker.kb, random.Random(seed)
    names = sorted(set(kb.names()))
    known, orders = set(map(joined_letters, names)), {read_words(name).ordered for name in names}
    series = series_of(names)
    rng.shuffle(names)
    made = {"rewritten": rewritten(names), "unknown": unknown(kb, names, series, rng), "opposite": opposite(names)}
    result: dict[str, Any] = {"names": len(names)}
    for kind, cases in made.items():
        new = (case for case in cases if joined_letters(case.text) not in known and folded(case.text) not in orders)
        drawn = list(islice(new, sample))
        result[kind] = measure(linker, drawn, kind, wrong)
    for name in PHRASES:
        path = data / f"corpora/direction_phrases/{name}.tsv"
        if path.exists() and (measured := phrases(linker, path)):
            result[name] = measured
    return result


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    parser.add_argument("kb", nargs="+", type=Path, help="Knowledge base.")
    parser.add_argument("--sample", type=int, default=400, help="Most texts of each kind.")
    parser.add_argument("--seed", type=int, default=0, help="Draws the names.")
    parser.add_argument("--wrong", type=Path, help="Write each text and its link to this file, as JSON lines.")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"encoder": arguments.encoder}
    rows: list[dict[str, Any]] = []
    for path in arguments.kb:
        linker = open_linker(path, arguments.encoder)
        results[path.stem] = measure_vocabulary(linker, arguments.data, arguments.sample, arguments.seed, rows)
    if arguments.wrong:
        lines = (json.dumps(row | {"numbers": sorted(row["numbers"])}, ensure_ascii=False) + "\n" for row in rows)
        arguments.wrong.write_text("".join(lines), encoding="utf-8")
    print(json.dumps(results, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
