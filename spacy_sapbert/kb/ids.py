"""Canonical form of concept ids, the same in vocabularies, corpora and predictions; and of languages of names.

MeSH ids and UMLS CUIs have no prefix (`D009369`, `C565588`, `C0012634`). All other ids are CURIEs (`OMIM:145250`). All
editions of SNOMED CT share the prefix `SNOMEDCT`, because their numbers do not overlap.

The table `prefixes.json` holds data of Bioregistry (CC0 1.0). `scripts/prefixes.py` makes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BadRecordError, ChoiceError, EmptyError, Errors, SapbertError, requiring
from ..files.opening import open_text

if TYPE_CHECKING:
    import curies

    from .knowledge_base import KnowledgeBase

NO_ID = frozenset({"", "-", "-1", "nan", "NaN", "<NA>", "#N/A", "CUI-less"})
"""What corpora and tables write where there is no concept."""

_DIGIT = "[0-9]"
SUPPLEMENTARY = ("C" + _DIGIT * 6, "C" + _DIGIT * 9, "OMIM:[0-9]*")
"""Patterns of ids that supplement MeSH descriptors, for `re` and for SQLite's GLOB.

They match MeSH supplementary records, and OMIM ids, which are the primary ids of MEDIC's records from OMIM. They do not
match a UMLS CUI, which has seven digits.
"""

MESH_RECORDS = ("[CD]" + _DIGIT * 6, "[CD]" + _DIGIT * 9)
"""Patterns of the ids of MeSH's descriptors and supplementary records, for SQLite's GLOB."""

_ENDS, _OTHER_PARTS = "/#_=:", "/#?&=_"  # of web addresses
_LONGEST = 300  # characters of an address before the id
_BARE = frozenset({"MESH", "UMLS"})
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_SINGLE_ID = re.compile(r"[^\s|+,;]+")
_SEPARATORS = re.compile(r"[|+,;]")
_CUI = re.compile("C[0-9]{7}")
_MESH = re.compile("[CDQ](?:[0-9]{6}|[0-9]{9})")  # ids created since 2017 have nine digits
SUPPLEMENTARY_ID = re.compile("|".join(SUPPLEMENTARY))
"""A canonical id that supplements the MeSH descriptors, e.g. `C565588` or `OMIM:145250`."""
_IRI = re.compile(r"https?://(?:www\.)?(?P<rest>\S+)", re.IGNORECASE)
# identifiers.org/mesh/D009369, identifiers.org/hgnc/HGNC:5, bioregistry.io/mesh:D009369
_RESOLVER = re.compile(
    r"(?:identifiers\.org|bioregistry\.io|bio2rdf\.org|n2t\.net|purl\.bioontology\.org/ontology)/"
    r"(?P<prefix>[A-Za-z][\w.-]*)[/:](?P<local>[^/#?]+)"
)
# The OBO Foundry's scheme, which Orphanet and EFO follow with their own bases: …/DOID_1612, …/Orphanet_124
_OBO = re.compile(r"\S*[/#](?P<prefix>[A-Za-z][A-Za-z0-9.-]*(?:_[A-Za-z]+)*)_(?P<local>[^_/#?:\d]*\d[^_/#?:]*)")
# its ids without the address: HP_0001945
_UNDERSCORED = re.compile(r"(?P<prefix>[A-Za-z][\w.-]*)_(?P<local>[A-Za-z]{0,3}[0-9][0-9A-Za-z.-]*)", re.ASCII)
# What a spreadsheet makes of a number. ICD has codes such as 250.0 and 1E50, which are none.
_FLOAT = re.compile(r"([0-9]{4,})[.]0")
_ROUNDED = re.compile(r"(?<![^|,;\s])(?:[^|,;:\s]*:)?[0-9](?:[.][0-9]+)?[Ee][+][0-9]{2,3}(?![^|,;\s])")
# FHIR's tokens: http://snomed.info/sct|22298006
_CODED = re.compile(r"(?P<system>(?:https?://|urn:oid:)[^\s|#+,;]+)[|#](?P<code>(?!http)[^\s|+,;]+)")
# What separates ids, columns or lines in a corpus file, with its code. The code of % comes last, so that decoding is
# unambiguous.
_SEPARATING = "|+,;\t\n\v\f\r\x1c\x1d\x1e\x85"
_CODES = dict(zip(_SEPARATING, map("%{:02X}".format, map(ord, _SEPARATING)), strict=True))
_CODES |= {"\u2028": "%E2%80%A8", "\u2029": "%E2%80%A9", "%": "%25"}
_ENCODING = str.maketrans(_CODES)


def canonical_id(raw: str, default_prefix: str | None = None) -> str:
    """Return the canonical form of an id. A canonical id is returned unchanged.

    A `C` number without a prefix may be a MeSH supplementary record or a UMLS CUI. Both stay without a prefix. The
    `.0` that a spreadsheet adds to a long number is removed.

    Args:
        raw: The id as a source writes it, e.g. "MESH:D009369", "HPO:HP_0001945", " UMLS:C0012634", or its address.
        default_prefix: The prefix for bare numbers, for sources that omit it ("OMIM" for MEDIC).

    Returns:
        The canonical form. It is empty if the text holds only whitespace and a prefix.
    """
    parts = curie(raw).split(":")
    prefix, n_prefixes = _read_prefixes(parts)
    local = ":".join(parts[n_prefixes:]).strip()
    if (
        (written := _UNDERSCORED.fullmatch(local))
        and (known := prefixes().spelled.get(written["prefix"].lower()))
        and prefix in ("", known, "OBO")
    ):
        prefix, local = "" if known in _BARE else known, written["local"]
    if spoilt := _FLOAT.fullmatch(local):
        local = spoilt[1]
    if default_prefix and not prefix and local.isascii() and local.isdecimal():
        prefix = canonical_prefix(default_prefix)
    return f"{prefix}:{local}" if prefix else local


def curie(text: str) -> str:
    """Return the CURIE of an IRI. Any other text is returned unchanged.

    Args:
        text: An id, possibly in angle brackets. A code of FHIR may follow its system after `|` or `#`.
    """
    text = text.strip()
    if "://" not in text and not text.startswith("urn:"):
        return text
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    if (coded := _CODED.fullmatch(text)) and (prefix := prefix_of_system(coded["system"])):
        return f"{prefix}:{coded['code']}"
    if not (iri := _IRI.fullmatch(text)):
        return text
    rest = iri["rest"]
    if known := prefixes().find_curie(rest):
        return known
    if match := _RESOLVER.fullmatch(rest) or _OBO.fullmatch(rest):
        return match["local"] if ":" in match["local"] else f"{match['prefix']}:{match['local']}"
    system, _, code = text.rpartition("/")
    prefix = _systems().get(system, "")
    return f"{prefix}:{code}" if prefix and any(map(str.isdigit, code)) else text


@cache
def _systems() -> dict[str, str]:
    """Return the prefixes of the code systems whose addresses are not beginnings of ids."""
    systems: dict[str, str] = json.loads(Path(__file__).with_name("systems.json").read_bytes())
    return systems


def prefix_of_system(system: str) -> str:
    """Return the prefix of the address of a code system of FHIR; empty if it is not known."""
    system = system.rstrip("/")
    known = _systems().get(system) or curie(f"{system}/1").partition(":")[0]
    return "" if known.lower() in ("http", "https", "urn") else known


def is_rounded(text: str) -> bool:
    """Return whether a spreadsheet rounded an id, as in `9.0E+17`, so that nobody knows it any more."""
    return _ROUNDED.fullmatch(text.strip()) is not None


def _read_prefixes(parts: list[str]) -> tuple[str, int]:
    """Return the canonical prefix, empty for MeSH and UMLS, and how many parts of an id are prefixes.

    Some sources write a prefix twice: HGNC:HGNC:5, DO:DOID:9352.
    """
    prefix = ""
    for number, part in enumerate(parts[:-1]):
        written, after = part.strip(), parts[number + 1].lstrip()
        if not _PREFIX.fullmatch(written) or after.startswith("//"):
            return prefix, number
        canonical = canonical_prefix(written)
        if canonical in _BARE and not prefix:
            continue
        if prefix and (canonical != prefix or written.lower() not in prefixes().spelled):
            return prefix, number
        if not after and not any(map(str.strip, parts[number + 1 :])):  # no id follows
            return prefix, number
        prefix = canonical
    return prefix, len(parts) - 1


def canonical_prefix(written: str) -> str:
    """Return the canonical form of a prefix: "HP" for "hpo", "ICD10CM" for "ICD-10-CM"; else in upper case."""
    spelled, folded = prefixes().spelled, written.lower()
    return spelled.get(folded) or spelled.get(folded.replace("-", "")) or written.upper()


class Prefixes(NamedTuple):
    """The table of prefixes.

    Attributes:
        spelled: The canonical prefix by each of its spellings in lower case.
        addresses: The canonical prefix by the beginning of a web address, without the scheme and `www.`.
        pages: The address of a concept's page by canonical prefix. `$1` stands for the id without the prefix.
    """

    spelled: dict[str, str]
    addresses: dict[str, str]
    pages: dict[str, str]

    def find_curie(self, address: str) -> str | None:
        """Return the CURIE of a web address without the scheme; None if the table does not have it.

        The end of the address must look like an id: with a digit, and without the signs of another part.
        """
        for start in range(min(len(address), _LONGEST), 0, -1):
            if address[start - 1] in _ENDS and (prefix := self.addresses.get(address[:start])):
                local = address[start:]
                is_local = any(map(str.isdigit, local)) and not any(sign in local for sign in _OTHER_PARTS)
                return f"{prefix}:{local}" if is_local else None
        return None


@cache
def prefixes() -> Prefixes:
    """Return the table. The first call reads it, in a few milliseconds."""
    table = json.loads(Path(__file__).with_name("prefixes.json").read_bytes())["prefixes"]
    spelled: dict[str, str] = {}
    addresses: dict[str, str] = {}
    pages: dict[str, str] = {}
    for prefix, about in table.items():
        spelled |= dict.fromkeys([prefix.lower(), *about["synonyms"]], prefix)
        addresses |= dict.fromkeys(about["addresses"], prefix)
        if about["page"]:
            pages[prefix] = about["page"]
    return Prefixes(spelled, addresses, pages)


def to_converter() -> curies.Converter:
    """Return the table as a converter of the library `curies`, which needs the extra `ontologies` and Python 3.11.

    It expands `curie_of(concept_id)` to the address of the concept's page, or to one of Bioregistry.
    """
    with requiring("ontologies", "A converter of CURIEs"):
        import curies
    table, records = prefixes(), []
    owners = {page.removesuffix("$1"): prefix for prefix, page in table.pages.items() if page.endswith("$1")}
    owners |= {f"https://bioregistry.io/{prefix.lower()}:": prefix for prefix in table.spelled.values()}
    for prefix in table.spelled.values():
        owners.setdefault(f"http://purl.obolibrary.org/obo/{prefix}_", prefix)
    for address, prefix in table.addresses.items():
        owners.setdefault(f"http://{address}", prefix)
        owners.setdefault(f"https://{address}", prefix)
    for prefix in sorted({*table.spelled.values()}):
        uri, *others = (known for known, owner in owners.items() if owner == prefix)
        synonyms = [written for written, owner in table.spelled.items() if owner == prefix and written != prefix]
        records.append(
            curies.Record(prefix=prefix, uri_prefix=uri, prefix_synonyms=synonyms, uri_prefix_synonyms=others)
        )
    return curies.Converter(records)


def add_converter(converter: curies.Converter) -> None:
    """Let this process read the prefixes and addresses of a converter, too. Those of the table take precedence."""
    table = prefixes()
    for record in converter.records:
        spellings = [record.prefix, *record.prefix_synonyms]
        known = (table.spelled.get(spelling.lower()) for spelling in spellings)
        canonical = next(filter(None, known), record.prefix)
        for spelling in spellings:
            table.spelled.setdefault(spelling.lower(), canonical)
        for uri in (record.uri_prefix, *record.uri_prefix_synonyms):
            table.addresses.setdefault(re.sub(r"^https?://(?:www\.)?", "", uri), canonical)


def split_ids(raw: str, default_prefix: str | None = None) -> tuple[str, ...]:
    """Return the canonical ids of a field that may hold several, joined by `|`, `+`, `,` or `;`.

    Returns:
        Each id once, in the order of the field. Empty for `-1`, `-`, `nan` or whitespace, and for an id that a
        spreadsheet rounded.
    """
    if "://" in raw or "urn:" in raw:
        raw = _CODED.sub(lambda coded: curie(coded[0]), raw)
    if "E+" in raw.upper():
        raw = _ROUNDED.sub("", raw)
    ids = (canonical_id(part, default_prefix) for part in _SEPARATORS.split(raw))
    return tuple(dict.fromkeys(concept_id for concept_id in ids if concept_id not in NO_ID))


def encode_id(concept_id: str) -> str:
    """Return the id as a corpus file can hold it: separators of ids, columns and lines become codes such as `%7C`."""
    return concept_id.translate(_ENCODING)


def decode_id(encoded: str) -> str:
    """Return the id that `encode_id` encoded. Other codes stay as they are."""
    if "%" not in encoded:
        return encoded
    for character, code in _CODES.items():
        encoded = encoded.replace(code, character)
    return encoded


def vocabulary_of(concept_id: str) -> str:
    """Return the vocabulary of a canonical id.

    Canonical ids of UMLS and MeSH have no prefix, but their numbers differ in length. C and seven digits is a CUI. C, D
    or Q and six or nine digits is a MeSH id.

    Returns:
        The prefix of the id, "UMLS" or "MESH". Empty if the vocabulary is unknown.
    """
    prefix, colon, _ = concept_id.partition(":")
    if colon:
        return prefix
    if _CUI.fullmatch(concept_id):
        return "UMLS"
    return "MESH" if _MESH.fullmatch(concept_id) else ""


def is_known(concept_id: str) -> bool:
    """Return whether a canonical id is one of UMLS, of MeSH, or of a vocabulary in the table, with a digit."""
    return vocabulary_of(concept_id).lower() in prefixes().spelled and any(map(str.isdigit, concept_id))


def curie_of(concept_id: str) -> str:
    """Return a canonical id with the prefix that ids of MeSH and UMLS lack. Any other id is returned unchanged."""
    vocabulary = "" if ":" in concept_id else vocabulary_of(concept_id)
    return f"{vocabulary}:{concept_id}" if vocabulary else concept_id


def some_ids(ids: Iterable[str], n: int = 3) -> str:
    """Return the first ids, separated by commas, for a message; "none" if there are no ids."""
    return ", ".join(islice(dict.fromkeys(ids), n)) or "none"


# --- lists of ids, one per line


def read_labels(path: Path) -> list[str]:
    """Read concept ids, one per line. Empty lines are skipped.

    Returns:
        The ids in canonical form, each once, in the order of the file.

    Raises:
        EmptyError: There is no id.
        BadRecordError: A line is not an id.
    """
    labels: dict[str, None] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            label = canonical_id(line)
            if label and (label in NO_ID or not _SINGLE_ID.fullmatch(label)):
                remedy = "Put each id on its own line, with nothing else."
                reason = f"{line.strip()[:100]!r} is not the id of one concept"
                raise BadRecordError(path=path, line=number, reason=reason, remedy=remedy)
            if label:
                labels[label] = None
    if not labels:
        remedy = "Give a file with one concept id per line, or omit the labels."
        raise EmptyError(what=f"label in {path}", consequence="no concept could be predicted", remedy=remedy)
    return list(labels)


def write_labels(ids: Sequence[str], path: Path) -> None:
    path.write_text("".join(f"{concept_id}\n" for concept_id in ids), encoding="utf-8")


# --- languages of names: one tag for each, whatever code a source uses

# Codes of three letters, as in the column LAT of UMLS, with the tags of BCP 47.
_PAIRS = """
ara ar  baq eu  bul bg  cat ca  chi zh  cze cs  dan da  dut nl  eng en  est et  fin fi  fre fr  ger de  gre el
heb he  hin hi  hrv hr  hun hu  ita it  jpn ja  kor ko  lav lv  lit lt  nor no  pol pl  por pt  rum ro  rus ru
scr hr  slo sk  slv sl  spa es  swe sv  tur tr  ukr uk  vie vi
"""
_LANGUAGE_CODES = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))


def known_tag(raw: str) -> str:
    """Return the tag of a language as a file writes it, e.g. "es" for "SPA", "es-MX" and "es_MX".

    Only the language is kept, not the region or the script. A text that is not a tag gives an empty one.
    """
    code = raw.strip().replace("_", "-").partition("-")[0].lower()
    return _LANGUAGE_CODES.get(code, code) if len(code) in (2, 3) and code.isascii() and code.isalpha() else ""


def language_tag(given: str) -> str:
    """Return the tag of a language that a user gives, see `known_tag`. Empty for an empty text.

    Raises:
        SapbertError: E193 it is not a tag.
    """
    tag = known_tag(given)
    if given and not tag:
        raise SapbertError(Errors.E193.format(given=given))
    return tag


def display_tag(kb: KnowledgeBase, given: str | None) -> str:
    """Return the tag of the language in which preferred names are shown. Empty for the preferred names of the sources.

    Raises:
        ChoiceError: The vocabulary has no name in it.
        SapbertError: E193 it is not a tag.
    """
    tag = language_tag(given or "")
    if tag and tag not in (known := kb.language_counts()):
        counts = [f"{language or 'unknown'} ({count:,})" for language, count in sorted(known.items())]
        raise ChoiceError(given=tag, what=f"language of names in {kb.path}", choices=counts)
    return tag
