"""Check the starter vocabulary against MeSH and MEDIC, and print the findings as JSON.

Every id must exist in MeSH or MEDIC. Every name must belong to its id there, or be in `own_names.txt`, the list of our
own names. Exit status: 0 without failures, 1 with a list of failures, 2 if the data is missing.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
DESCRIPTORS = "vocabularies/mesh/mesh_descriptors_2020.tsv.gz"
CHEMICALS = "vocabularies/mesh_chemicals/mesh_chemicals.txt.gz"
MEDIC = "dictionaries/medic/medic_06Jul2012.txt.gz"

OwnedName = tuple[str, str]
"""A concept id and one of its names."""


def name_key(name: str) -> str:
    """Return the letters and digits of a name, case-folded, to compare names without punctuation and blanks."""
    return "".join(filter(str.isalnum, html.unescape(name).casefold()))


def read_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\r\n")


def source_names(data: Path) -> Iterator[OwnedName]:
    """Read MeSH and MEDIC. A row of MEDIC with several ids gives its names to each id."""
    for line in read_lines(data / DESCRIPTORS):
        concept_id, preferred, synonyms = line.split("\t")
        yield from ((concept_id, name) for name in [preferred, *synonyms.split("|")])
    for source in (CHEMICALS, MEDIC):
        for line in read_lines(data / source):
            ids, names = line.split("||", 1)
            yield from ((concept_id, name) for concept_id in ids.split("|") for name in names.split("|"))


def read_owners(data: Path) -> dict[str, set[str]]:
    """Read the sources into a dict: name key → ids of its concepts."""
    owners = defaultdict(set)
    for concept_id, name in source_names(data):
        if key := name_key(name):
            # MEDIC writes OMIM numbers without a prefix
            owners[key].add(f"OMIM:{concept_id}" if concept_id.isdigit() else concept_id)
    return owners


def read_vocabulary(starter: Path) -> list[OwnedName]:
    lines = (starter / "vocabulary.jsonl").read_text(encoding="utf-8").splitlines()
    concepts = [json.loads(line) for line in lines]
    return [(c["concept_id"], name) for c in concepts for name in [c["canonical_name"], *c["aliases"]]]


def read_own_names(starter: Path) -> list[OwnedName]:
    lines = (starter / "own_names.txt").read_text(encoding="utf-8").splitlines()
    return [(concept_id, name) for concept_id, name in (line.split("\t") for line in lines)]


def find_failures(
    names: list[OwnedName], own: list[OwnedName], owners: Mapping[str, set[str]]
) -> Iterator[dict[str, Any]]:
    """Compare vocabulary, list of own names and sources. Yield one record per failure.

    Kinds: `unknown id`; `unknown name` (in no source, not ours); `name of another concept` (and not ours);
    `not in the vocabulary` (listed as ours); `superfluous` (listed as ours, but a source has it).
    """
    known_ids = set().union(*owners.values())
    for concept_id in sorted({concept_id for concept_id, _ in names} - known_ids):
        yield {"failure": "unknown id", "id": concept_id}
    ours = set(own)
    for concept_id, name in names:
        holders = owners.get(name_key(name), set())
        if concept_id not in holders and (concept_id, name) not in ours:
            failure = "name of another concept" if holders else "unknown name"
            yield {"failure": failure, "id": concept_id, "name": name, "held_by": sorted(holders)}
    for concept_id, name in sorted(ours - set(names)):
        yield {"failure": "not in the vocabulary", "id": concept_id, "name": name}
    for concept_id, name in own:
        if concept_id in owners.get(name_key(name), set()):
            yield {"failure": "superfluous", "id": concept_id, "name": name}


def check(starter: Path, data: Path) -> dict[str, Any]:
    """Check the vocabulary in the folder `starter` against the sources in the folder `data`.

    Returns:
        Counts, `ours_held_by_others` and `failures`. `ours_held_by_others` has the own names that a source gives to
        other concepts only, for manual review.
    """
    names, own, owners = read_vocabulary(starter), read_own_names(starter), read_owners(data)
    held_by = [(concept_id, name, sorted(owners.get(name_key(name), set()))) for concept_id, name in own]
    return {
        "concepts": len({concept_id for concept_id, _ in names}),
        "names": len(names),
        "ours": len(own),
        "ours_held_by_others": [
            {"id": concept_id, "name": name, "held_by": ids} for concept_id, name, ids in held_by if ids
        ],
        "failures": list(find_failures(names, own, owners)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    default_data = os.environ.get("SPACY_SAPBERT_DATA") or REPOSITORY.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=default_data, help="Folder of the public data (%(default)s).")
    parser.add_argument(
        "--starter",
        type=Path,
        default=REPOSITORY / "spacy_sapbert" / "starter",
        help="Folder of vocabulary.jsonl and own_names.txt (%(default)s).",
    )
    arguments = parser.parse_args()
    if not (arguments.data / DESCRIPTORS).exists():
        parser.error(f"{arguments.data} has no {DESCRIPTORS}. Give the folder of the public data with --data.")
    report = check(arguments.starter, arguments.data)
    print(json.dumps(report, indent=2, ensure_ascii=False))
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
