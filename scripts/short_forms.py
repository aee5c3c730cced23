"""Write `spacy_sapbert/text/short_forms/en.txt`: what short forms stand for in clinical notes.

    python scripts/short_forms.py FOLDER [--without INVENTORY …] > en.txt

The folder has the inventories that the README beside the list names. Lines of the present list with the mark "o" were
written by hand. They stay, and get the marks of the inventories that have one of their senses. Other short forms are
added if two inventories agree on the most frequent sense.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from pathlib import Path

LIST = Path(__file__).parents[1] / "spacy_sapbert/text/short_forms/en.txt"
INVENTORIES = {
    "c": "vanderbilt_clinic_notes.txt",
    "d": "vanderbilt_discharge_sums.txt",
    "w": "wikipedia_abbreviation_database.csv",
    "p": "12000_pathology_abbreviations.txt",
}
OWN = "o"
RARE, FEWEST, LEAST_SHARE = 0.03, 2, 0.05
ALIKE = 0.8  # two spellings of one sense
FEWEST_CAPITALS = 2  # others are shortened words, such as "disp"
LOCAL = "vanderbilt"
LETTER = r"\b(?:(?:hepatitis|vitamin|troponin|immunoglobulin) [a-z]\b|[btx](?=-(?:cell|ray)))"
LEFT_OUT = {"of", "the", "and", "or", "in", "to", "for", "with", "a", "by", "at"}

Senses = dict[str, float]


def key(name: str) -> str:
    """RETURNS (str): the words of a long form, in any order and number."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return " ".join(sorted(word.rstrip("s") for word in words if word not in LEFT_OUT))


def form_key(form: str) -> str:
    return re.sub(r"[^a-z0-9/&+]", "", form.lower().replace("_", "/"))


def read(mark: str, path: Path) -> tuple[dict[str, Senses], dict[str, Counter[str]]]:
    """RETURNS: the long forms of each short form with their shares, 0 if unknown, and how often it is written how."""
    senses: defaultdict[str, Senses] = defaultdict(dict)
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        if mark in "cd":
            for short, long, forms, _, share in list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]:
                senses[form_key(short)][long] = float(share or 0)
                for form in forms.split("|"):
                    text, _, n = form.rpartition("_")
                    written[form_key(short)][text.strip(".")] += int(n) if n.isdigit() else 1
        else:
            pairs = csv.reader(lines) if mark == "w" else (line.split(" = ", 1) for line in lines if " = " in line)
            for short, long in pairs:
                senses[form_key(short)][long.strip()] = 0.0
                written[form_key(short)][short.strip() if mark == "w" else short.strip().upper()] += 1
    return senses, written


def plain(name: str) -> str:
    name = re.sub(r"\(.*?\)|\[.*?\]|[\"*|:=\t]", " ", name.lower()).split("/")[0]
    name = re.sub(LETTER, lambda match: match[0][:-1] + match[0][-1].upper(), name)
    return " ".join(name.split()).strip(" ,.-")


def agreed(short: str, inventories: dict[str, dict[str, Senses]]) -> tuple[str, list[tuple[str, float]]] | None:
    """RETURNS: marks and senses of a short form on which inventories agree, the most frequent first; or None."""
    marks, shares, names = defaultdict(set), Counter[str](), {}
    counted = [mark for mark in inventories if mark in "cd" and short in inventories[mark]]
    for mark, forms in inventories.items():
        for long, share in forms.get(short, {}).items():
            if mark in counted and share < RARE:
                continue
            marks[key(long)].add(mark)
            shares[key(long)] += share / max(1, len(counted))
            names.setdefault(key(long), plain(long))
    if not counted and len(marks) > 1:
        return None  # nobody knows which sense is frequent
    ranked = sorted(marks, key=lambda sense: (-shares[sense], -len(marks[sense])))
    ranked = [sense for sense in ranked if shares[sense] >= LEAST_SHARE or not counted]
    if not ranked or len(marks[ranked[0]]) < FEWEST or len(names[ranked[0]]) <= len(short):
        return None
    total = max(1.0, sum(map(shares.__getitem__, ranked)))
    senses: dict[str, float] = {}
    for sense in ranked:
        name = names[sense]
        same = next((other for other in senses if SequenceMatcher(None, name, other).ratio() > ALIKE), name)
        senses[same] = senses.get(same, 0) + shares[sense] / total
    return "".join(sorted(marks[ranked[0]])), [*senses.items()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", nargs="*", default=())
    arguments = parser.parse_args()
    read_all = {
        mark: read(mark, arguments.folder / name) for mark, name in INVENTORIES.items() if name not in arguments.without
    }
    inventories = {mark: senses for mark, (senses, _) in read_all.items()}
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _, forms in read_all.values():
        for short, counts in forms.items():
            written[short] += counts
    lines, own = [], set()
    for line in LIST.read_text(encoding="utf-8").splitlines():
        forms, marks, *senses = line.split("\t")
        if OWN in marks:
            shorts = set(map(form_key, forms.split(",")))
            own |= shorts | {short.removesuffix("s") for short in shorts}
            keys = {key(name) for sense in senses for name in re.split(r" \d+:| \d+$", sense)[0].split("=")}
            confirmed = [
                mark
                for mark, found in inventories.items()
                if any(key(long) in keys for short in shorts for long in found.get(short, ()))
            ]
            lines.append("\t".join([forms, "".join(sorted([OWN, *confirmed])), *senses]))
    for short in sorted(set().union(*inventories.values())):
        if (
            len(short) < 2
            or short.isdigit()
            or set(short) <= set("ivx")
            or short in own
            or short.removesuffix("s") in own
        ):
            continue
        entry = agreed(short, inventories)
        if entry:
            marks, senses = entry
            form = written[short].most_common(1)[0][0]
            if sum(map(str.isupper, form)) < FEWEST_CAPITALS or LOCAL in senses[0][0]:
                continue
            single = len(senses) == 1
            shown = [name if single else f"{name} {max(1, round(100 * share))}" for name, share in senses]
            lines.append("\t".join([form, marks, *shown]))
    print("\n".join(sorted(lines, key=lambda line: (form_key(line.split("\t")[0]), line))))  # noqa: T201


if __name__ == "__main__":
    main()
