"""Write the table of today's drugs for the vocabulary in the package: concepts of MeSH with more names, and new ones.

    python scripts/box_drugs.py chemicals.tsv --drugbank drugbank.csv --unii unii_names.tsv --cas mesh_cas.tsv \\
        --mesh-ids mesh_ids.tsv -o drugs.tsv

Drugs are the substances in DrugBank's open list, and those for which the FDA's list (UNII) names an international or
national body that named them. A salt belongs to its drug. A drug is a concept of MeSH if MeSH has its name or its CAS
number, or if training documents give it an id of MeSH; else its UNII is its id. What is in MeSH already takes
precedence: see `Claim`.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from box_vocabulary import LONGEST, MESH, Claim, Output, granted, write_table
from vocabularies import rows

from spacy_sapbert.files.opening import open_text
from spacy_sapbert.kb.readers import ReadReport
from spacy_sapbert.kb.readers.context import ReaderContext
from spacy_sapbert.kb.readers.known_tables import BRAND, substance_name, substances
from spacy_sapbert.text.normalize import lower
from spacy_sapbert.text.words import is_general

DRUGBANK, UNII = "DrugBank", "UNII"
NAMED_BY = re.compile(r" \[(?:INN|USAN|JAN|ORANGE BOOK|PURPLE BOOK CDER|EMA EPAR)\]$")
# Foods, plants and their pollen, which DrugBank lists as allergens
NATURAL = re.compile(
    r"\b(?:bark|extract|flower|fruit|fungus|leaf|meat|oil|pollen|root|seed|virus|whole)\b", re.IGNORECASE
)
CODE, OF_CODES = "cd", 5
WITH_SALT = re.compile(r" [A-Z]{4,}")  # "MK7264 CITRATE"
# What the names of salts and hydrates add
SALTS = """
    acetate anhydrous arginine besylate bisulfate bitartrate bromide calcium camsylate chloride citrate diacetate
    dihydrate dihydrochloride diisethionate diisetionate dimaleate dimesylate diphosphate disodium disulfate
    edisylate esylate fumarate gluconate hemifumarate hemihydrate hemisulfate hydrate hydrobromide hydrochloride
    iodide isethionate isetionate lactate lysine magnesium malate maleate meglumine mesylate monohydrate
    monohydrochloride monosodium napsylate nitrate oxalate pamoate phosphate potassium salicylate sesquihydrate
    sodium succinate sulfate tartrate tosylate trihydrate trihydrochloride trisodium tromethamine xinafoate
"""
# Not drugs of which their salts are forms
METALS = """
    aluminum ammonium antimony arsenic barium bismuth calcium chromium cobalt copper ferric ferrous gold iron
    lithium magnesium manganese mercury potassium selenium silver sodium strontium zinc
"""
SALT_WORDS, METAL_WORDS = frozenset(SALTS.split()), frozenset(METALS.split())
# Names that nobody writes: of impurities and parts of products, turned round or with a comment, of catalogs, systematic
UNUSUAL = re.compile(
    r"component|impurity|related compound|biosimilar|unspecified|, |[()\[\]]"
    r"|^(?:NSC|FEMA|CI|INS|EC)\b|(?:\d[,'-].*){3}",
    re.IGNORECASE,
)
FOREIGN = re.compile(r"(?:um|e|a|o)\b")  # endings of an INN in Latin, French, Spanish, Italian
FEWEST = 4  # letters and digits of a name that MeSH does not have


class Drug(NamedTuple):
    """A substance of one of the lists, or several that are one drug.

    Attributes:
        names: Ranks, names and their sources.
        ids: Ids in the lists; the first is the id of a drug that MeSH lacks.
        cas: Numbers of CAS.
    """

    names: list[tuple[int, str, str]]
    ids: list[str]
    cas: list[str]

    def add(self, other: Drug) -> None:
        self.names.extend(other.names)
        self.ids.extend(other.ids)
        self.cas.extend(other.cas)


def drugbank_drugs(path: Path) -> Iterator[tuple[str, Drug]]:
    """Yield UNII and drug of each row."""
    with open_text(path, newline="") as lines:
        for row in csv.DictReader(lines):
            synonyms = [name for name in row["Synonyms"].split(" | ") if name]
            if row["UNII"]:
                names = [(1, row["Common name"], DRUGBANK), *((3, name, DRUGBANK) for name in synonyms)]
                yield row["UNII"], Drug(names, [f"DRUGBANK:{row['DrugBank ID']}"], [row["CAS"]] * bool(row["CAS"]))


def fda_drugs(path: Path) -> Iterator[tuple[str, Drug, bool]]:
    """Yield UNII and drug of each substance, and whether a body has named it."""
    for _, of_substance in substances(ReaderContext(path, ReadReport())):
        unii, name, _, preferred, *_ = of_substance[0]
        named = [row[1] for row in of_substance if NAMED_BY.search(row[1])]
        shown = substance_name(preferred or name, "of")
        names = [(1, shown[:1].upper() + shown[1:], UNII), *((2, substance_name(name, "of"), UNII) for name in named)]
        for _, name, kind, *_ in of_substance:
            names.append(({BRAND: 4, CODE: OF_CODES}.get(kind, 3), substance_name(name, kind), UNII))
        yield unii, Drug(names, [f"UNII:{unii}"], []), bool(named)


class Table:
    """The names and ids of chemicals that the vocabulary has already."""

    def __init__(self, chemicals: Path, cas: Path, mesh_ids: Path) -> None:
        self.claims: list[Claim] = []
        self._owners: defaultdict[str, set[str]] = defaultdict(set)
        for id, name, synonyms, *_ in rows(chemicals, 3):
            for text in filter(None, (name, *synonyms.split("|"))):
                self.claims.append(Claim(0, id, text, MESH))
                self._owners[key(text)].add(id)
        self._by_cas = {number: id for id, number, *_ in rows(cas, 2)}
        self.ids: dict[str, list[str]] = defaultdict(list)
        for id, name in rows(mesh_ids, 2):
            self.ids[lower(name)].append(id)

    def find(self, drug: Drug, last: int = OF_CODES - 1) -> str:
        """Return the concept of MeSH that a drug is, by its surest name, or by its CAS number; empty if none.

        Args:
            last: The last rank of names that count.
        """
        for rank, text, _ in sorted(drug.names, key=itemgetter(0)):
            owners = self._owners.get(key(text), set())
            if len(owners) == 1 and rank <= last:
                return min(owners)
        return next((self._by_cas[number] for number in drug.cas if number in self._by_cas), "")

    def other_ids(self, concept_id: str, names: Iterable[str]) -> list[str]:
        """Return the ids that training documents give to one of these names."""
        found = chain.from_iterable(self.ids.get(lower(name), ()) for name in names)
        return [id for id in dict.fromkeys(found) if id != concept_id]


def joined_drugs(drugbank: Path, unii: Path, table: Table) -> dict[str, Drug]:
    """Return the drugs of both lists by UNII. Salts and hydrates are part of theirs, unless MeSH separates them."""
    of_drugbank = dict(drugbank_drugs(drugbank))
    drugs, salts = {}, {}
    for id, drug, is_named in fda_drugs(unii):
        is_natural = any(NATURAL.search(name) for _, name, _ in drug.names)
        if is_named or (id in of_drugbank and not is_natural):
            drugs[id] = drug
            if id in of_drugbank:
                drug.add(of_drugbank[id])
        elif base_of(drug):
            salts[id] = drug
    by_name = {lower(drug.names[0][1]): id for id, drug in drugs.items()}
    for id, drug in {**drugs, **salts}.items():
        base = by_name.get(base_of(drug))
        if base and len({table.find(drug, 2), table.find(drugs[base], 2)} - {""}) < 2:
            drugs[base].add(drug)
            drugs.pop(id, None)
    return drugs


def base_of(drug: Drug) -> str:
    """Return the name of which a salt is, in small letters; empty if it is none."""
    words = lower(drug.names[0][1]).split()
    n = len(words)
    while n and words[n - 1] in SALT_WORDS:
        n -= 1
    return "" if n == len(words) or not METAL_WORDS.isdisjoint(words[:n]) else " ".join(words[:n])


def key(text: str) -> str:
    """Return what names share that differ by case and number: "Nitrites" is nitrite."""
    name = lower(text)
    return name[:-1] if len(name) > FEWEST and name.endswith("s") and not name.endswith(("is", "ss", "us")) else name


def useful(names: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
    """Yield the names that a text may have. Of spellings that differ by a hyphen or an ending, the first one."""
    seen: set[str] = set()
    for rank, text, source in sorted(names, key=itemgetter(0)):
        plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
        letters = FOREIGN.sub("", re.sub(r"[\s-]+", " " if rank < OF_CODES else "", plain.casefold()))
        if letters not in seen and is_written(rank, text):
            seen.add(letters)
            yield rank, text, source


def is_written(rank: int, text: str) -> bool:
    """Return whether somebody writes a name of a rank in text, and means the drug by it."""
    if len(text) > LONGEST or UNUSUAL.search(text) or is_general(text) or (rank == OF_CODES and WITH_SALT.search(text)):
        return False
    letters = [*filter(str.isalnum, text)]
    is_salt = rank == 3 and not SALT_WORDS.isdisjoint(lower(text).split())
    return len(letters) >= FEWEST and any(map(str.isalpha, letters)) and not is_salt


def main(
    chemicals: Annotated[Path, typer.Argument(help="The table of chemicals of scripts/box_vocabulary.py")],
    drugbank: Annotated[Path, typer.Option(help="DrugBank's open list, as CSV")],
    unii: Annotated[Path, typer.Option(help="The FDA's names of substances, as a table or in a zip file")],
    cas: Annotated[Path, typer.Option(help="MeSH: id, CAS number")],
    mesh_ids: Annotated[Path, typer.Option(help="Ids that training documents give to names: id, name")],
    output: Output,
) -> None:
    """Write the table of drugs."""
    table = Table(chemicals, cas, mesh_ids)
    drugs, claims = joined_drugs(drugbank, unii, table), table.claims
    alternatives: dict[str, list[str]] = defaultdict(list)
    xrefs: dict[str, list[str]] = defaultdict(list)
    for drug in drugs.values():
        names = list(useful(drug.names))
        if not names:
            continue
        ids = table.find(drug), *table.other_ids("", (text for _, text, _ in names)), *drug.ids
        concept_id = next(filter(None, ids))
        claims += (Claim(rank, concept_id, text, source) for rank, text, source in names)
        xrefs[concept_id] += (id for id in drug.ids if id != concept_id)
    for claim in claims:
        alternatives[claim.concept_id] += table.other_ids(claim.concept_id, [claim.name])
    concepts = granted(claims, key)
    more = ((id, {source: names for source, names in of.items() if source != MESH}) for id, of in concepts)
    others = {id: list(dict.fromkeys(ids)) for id, ids in alternatives.items()}
    write_table(output, "Chemical", more, lambda id: [], others, xrefs)


if __name__ == "__main__":
    typer.run(main)
