"""Make the table of id prefixes in the package from the registry of the package `bioregistry` (data: CC0 1.0).

    pip install bioregistry
    python scripts/prefixes.py

The table has the vocabularies of the OBO Foundry and the others named below. It holds other spellings of each prefix,
the beginnings of the web addresses that stand for ids, and the address of a concept's page.
"""

import json
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bioregistry

TABLE = Path(__file__).parents[1] / "spacy_sapbert" / "kb" / "prefixes.json"

# Vocabularies of concepts outside of the OBO Foundry. Cellosaurus is not here: its ids have no prefix (CVCL_0030).
OTHERS = """
atc chembl.compound cas clinvar complexportal cosmic dbsnp drugbank drugcentral efo ensembl fma gard gtopdb hgnc
hgnc.symbol hmdb icd9 icd9cm icd10 icd10cm icd10pcs icd11 icdo icf interpro kegg.compound kegg.disease kegg.drug
kegg.pathway lipidmaps loinc meddra medgen medlineplus mesh mgi mirbase ncbigene ndfrt omim omim.ps orpha orphanet.ordo
pfam pubchem.compound pubchem.substance reactome rgd rxnorm snomedct swisslipids umls unii uniprot wikidata wikipathways
"""
# The spelling of this package. Other prefixes are in upper case.
SPELLING = {
    "biomodels.kisao": "KISAO",
    "ncbigene": "NCBIGene",
    "ncbitaxon": "NCBITaxon",
    "omim.ps": "OMIMPS",
    "orphanet.ordo": "Orphanet",
}
# Both prefixes of Orphanet are canonical, as vocabularies and corpora write them. The others do not tell the revision,
# stand for other ids, or are too short to be sure: in DOID, `DO:` comes before the initials of a curator.
NOT_SYNONYMS = """
orphanet orpha icd icd11.foundation dsstox_cid dsstox_generic_sid ro_proposed_relation wdeschema do ip pf ps re up wd
"""
# Other spellings that the registry lacks.
FURTHER = {"UMLS": {"cui"}}
# Pages for people, where the registry's address leads to data, to an old page or to a mirror.
PAGES = {
    "CHEBI": "https://www.ebi.ac.uk/chebi/CHEBI:$1",
    "DOID": "https://disease-ontology.org/?id=DOID:$1",
    "EFO": "http://www.ebi.ac.uk/efo/EFO_$1",
    "GO": "https://amigo.geneontology.org/amigo/term/GO:$1",
    "HGNC": "https://www.genenames.org/data/gene-symbol-report/#!/hgnc_id/HGNC:$1",
    "HP": "https://hpo.jax.org/browse/term/HP:$1",
    "NCBITaxon": "https://www.ncbi.nlm.nih.gov/Taxonomy/Browser/wwwtax.cgi?id=$1",
    "OMIM": "https://omim.org/entry/$1",
    "ORPHA": "https://www.orpha.net/en/disease/detail/$1",
    "Orphanet": "https://www.orpha.net/en/disease/detail/$1",
    "SNOMEDCT": "https://browser.ihtsdotools.org/?perspective=full&conceptId1=$1",
}
# These addresses contain the prefix, so the package reads them without the table.
WITH_PREFIX = (
    "bio2rdf.org/",
    "bioregistry.io/",
    "identifiers.org/",
    "n2t.net/",
    "purl.bioontology.org/ontology/",
    "purl.obolibrary.org/obo/",
)
ENDS = tuple("/#_=:")


def main() -> None:
    """Write the table."""
    resources = [resource for resource in bioregistry.resources() if is_chosen(resource)]
    table = {prefix_of(resource): entry(resource) for resource in sorted(resources, key=prefix_of)}
    drop_shared(table, "synonyms")
    drop_shared(table, "addresses")
    lines = [f"{json.dumps(prefix)}: {json.dumps(about)}" for prefix, about in table.items()]
    about = {"source": f"bioregistry {version('bioregistry')}", "license": "CC0 1.0"}
    head = json.dumps(about)[1:-1]
    TABLE.write_text(f'{{{head}, "prefixes": {{\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")


def is_chosen(resource: Any) -> bool:
    of_foundry = resource.get_obofoundry_prefix() and not resource.is_deprecated()
    return bool(of_foundry) or resource.prefix in OTHERS.split()


def prefix_of(resource: Any) -> str:
    """Return the canonical prefix of a vocabulary."""
    return SPELLING.get(resource.prefix) or (resource.get_preferred_prefix() or resource.prefix).upper()


def entry(resource: Any) -> dict[str, Any]:
    """Return the entry of a vocabulary."""
    prefix = prefix_of(resource)
    written = {text.lower() for text in (resource.prefix, *resource.get_synonyms())}
    # a prefix with a year stands for a release, which the package removes before
    synonyms = {text for text in written | FURTHER.get(prefix, set()) if is_prefix(text) and not has_year(text)} - {
        *NOT_SYNONYMS.split(),
        prefix.lower(),
    }
    addresses = {bare(uri) for uri in resource.get_uri_prefixes()}
    page = PAGES.get(prefix) or resource.get_default_format()
    return {"synonyms": sorted(synonyms), "addresses": sorted(filter(is_needed, addresses)), "page": page}


def is_prefix(text: str) -> bool:
    return text.translate(str.maketrans("", "", "_.-")).isalnum() and not text.endswith("_retired")


def is_needed(address: str) -> bool:
    """Return whether an address can be looked up, and a whole id does not follow it."""
    whole = address.startswith(WITH_PREFIX) or "?iri=" in address or address.endswith("short_form=")
    return address.endswith(ENDS) and not whole and not address[0].isdigit()


def has_year(text: str) -> bool:
    digits = "".join(character if character.isdigit() else " " for character in text).split()
    return any(len(run) == 4 and run[:2] in ("19", "20") for run in digits)


def bare(uri: str) -> str:
    """Return an address without the scheme and `www.`; empty if it is not of the web."""
    scheme, _, rest = uri.partition("://")
    return rest.removeprefix("www.") if scheme in ("http", "https") else ""


def drop_shared(table: dict[str, dict[str, Any]], key: str) -> None:
    """Remove the texts that several entries have, and synonyms that are the prefix of another entry."""
    owners = Counter(text for about in table.values() for text in about[key])
    owners.update(prefix.lower() for prefix in table)
    for about in table.values():
        about[key] = [text for text in about[key] if owners[text] == 1]


if __name__ == "__main__":
    main()
