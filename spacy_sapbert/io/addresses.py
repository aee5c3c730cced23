"""Know the web page of a concept by its id."""

from __future__ import annotations

import re
from urllib.parse import quote

# The web page of a concept. The braces stand for the part of a CURIE after its prefix.
_ADDRESSES = {
    "mesh": "https://meshb.nlm.nih.gov/record/ui?ui={}",
    "umls": "https://uts.nlm.nih.gov/uts/umls/concept/{}",
    "CHEBI": "https://www.ebi.ac.uk/chebi/CHEBI:{}",
    "CL": "http://purl.obolibrary.org/obo/CL_{}",
    "DOID": "https://disease-ontology.org/?id=DOID:{}",
    "DRUGBANK": "https://go.drugbank.com/drugs/{}",
    "EFO": "http://www.ebi.ac.uk/efo/EFO_{}",
    "GO": "https://amigo.geneontology.org/amigo/term/GO:{}",
    "HGNC": "https://www.genenames.org/data/gene-symbol-report/#!/hgnc_id/HGNC:{}",
    "HP": "https://hpo.jax.org/browse/term/HP:{}",
    "MONDO": "http://purl.obolibrary.org/obo/MONDO_{}",
    "NCBIGene": "https://www.ncbi.nlm.nih.gov/gene/{}",
    "NCBITaxon": "https://www.ncbi.nlm.nih.gov/Taxonomy/Browser/wwwtax.cgi?id={}",
    "NCIT": "http://purl.obolibrary.org/obo/NCIT_{}",
    "OMIM": "https://omim.org/entry/{}",
    "ORPHA": "https://www.orpha.net/en/disease/detail/{}",
    "Orphanet": "https://www.orpha.net/en/disease/detail/{}",
    "SYMP": "http://purl.obolibrary.org/obo/SYMP_{}",
    "UBERON": "http://purl.obolibrary.org/obo/UBERON_{}",
}
# A MeSH id has 6 or 9 digits and a UMLS CUI has 7, so they are never confused.
_BARE = {"mesh": re.compile(r"[CD]\d{6}(?:\d{3})?"), "umls": re.compile(r"C\d{7}")}


def concept_url(concept_id: str) -> str | None:
    """Return the URL of a concept's web page; None for an id of an unknown vocabulary."""
    prefix, colon, local = concept_id.partition(":")
    if not colon:
        local = concept_id
        prefix = next((name for name, pattern in _BARE.items() if pattern.fullmatch(concept_id)), "")
    template = _ADDRESSES.get(prefix)
    return template.format(quote(local, safe="")) if template else None
