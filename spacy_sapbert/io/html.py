"""Render linked documents as an HTML page: each text with its mentions marked, and a table of their links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from urllib.parse import quote

from spacy import displacy
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from ..corpora.docs import DOC_ID
from ..kb.knowledge_base import KnowledgeBase
from ..pipeline.attributes import get_links
from ..pipeline.mentions import mentions_of
from ..types import NIL, Link

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

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }}
section {{ border-top: 1px solid #ccc; padding: 1rem 0; }}
table {{ border-collapse: collapse; font-size: 0.9rem; margin-top: 1rem; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.25rem 1rem 0.25rem 0; border-bottom: 1px solid #ddd; }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
</style>
</head>
<body>
<h1>{title}</h1>
"""
_TAIL = "</body>\n</html>\n"
_COLUMNS = ("Mention", "Type", "Long form", "Part", "Concept", "Matched name", "Score", "Probability", "Why")


def render_page(docs: Iterable[Doc], kb: KnowledgeBase, title: str, *, spans_key: str | None = None) -> str:
    """Return one self-contained HTML page of linked documents.

    Args:
        docs: Docs from a pipeline with a `sapbert_linker`.
        kb: The knowledge base of the linker (`linker.kb`), for the names of concepts.
        title: The title of the page.
        spans_key: Show the mentions of `doc.spans[spans_key]` instead of `doc.ents`.
    """
    return "".join(render_parts(((doc, mentions_of(doc, spans_key)) for doc in docs), kb, title))


def render_parts(docs: Iterable[tuple[Doc, Sequence[Span]]], kb: KnowledgeBase, title: str) -> Iterator[str]:
    """Yield the page of `render_page` in pieces, one per document, for many documents."""
    yield _HEAD.format(title=escape(title))
    for number, (doc, mentions) in enumerate(docs, start=1):
        heading = escape(doc.user_data.get(DOC_ID, "") or f"Document {number}")
        table = _table(number, mentions, kb) if mentions else "<p>No mention was found.</p>\n"
        yield f"<section>\n<h2>{heading}</h2>\n{_text(number, doc, mentions)}\n{table}</section>\n"
    yield _TAIL


def concept_url(concept_id: str) -> str | None:
    """Return the URL of a concept's web page; None for an id of an unknown vocabulary."""
    prefix, colon, local = concept_id.partition(":")
    if not colon:
        local = concept_id
        prefix = next((name for name, pattern in _BARE.items() if pattern.fullmatch(concept_id)), "")
    template = _ADDRESSES.get(prefix)
    return template.format(quote(local, safe="")) if template else None


def _text(number: int, doc: Doc, mentions: Sequence[Span]) -> str:
    # displaCy cannot draw overlapping mentions; the table has all of them
    rows = {(mention.start, mention.end): row for row, mention in enumerate(mentions)}
    drawn = [
        {
            "start": mention.start_char,
            "end": mention.end_char,
            "label": escape(mention.label_),
            "kb_id": escape("" if mention.kb_id_ == NIL else mention.kb_id_),
            "kb_url": escape(concept_url(mention.kb_id_) or f"#{_anchor(number, rows[mention.start, mention.end])}"),
        }
        for mention in filter_spans(mentions)
    ]
    return displacy.render({"text": doc.text, "ents": drawn}, style="ent", manual=True, jupyter=False)


def _table(number: int, mentions: Sequence[Span], kb: KnowledgeBase) -> str:
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    rows = "".join(_rows(_anchor(number, row), mention, kb) for row, mention in enumerate(mentions))
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"


def _rows(anchor: str, mention: Span, kb: KnowledgeBase) -> str:
    links = get_links(mention)
    span = f' rowspan="{max(len(links), 1)}"'
    first = f'<td id="{anchor}"{span}>{escape(mention.text)}</td><td{span}>{escape(mention.label_)}</td>'
    cells = [_cells(link, kb) for link in links] or ["<td></td>" * (len(_COLUMNS) - 2)]
    return "".join(f"<tr>{first if not row else ''}{cell}</tr>\n" for row, cell in enumerate(cells))


def _cells(link: Link, kb: KnowledgeBase) -> str:
    concept = _concept(link.concept_id, kb) if link.concept_id else ""
    texts = [escape(text or "") for text in (link.long_form, link.text if link.split else "")]
    cells = "".join(f"<td>{cell}</td>" for cell in [*texts, concept, escape(link.name or "")])
    numbers = ["" if value is None else f"{value:.3f}" for value in (link.score, link.probability)]
    number_cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    return f"{cells}{number_cells}<td>{escape(link.reason or link.tie or '')}</td>"


def _concept(concept_id: str, kb: KnowledgeBase) -> str:
    concept = kb.get(concept_id)
    url = concept_url(concept_id)
    shown = f'<a href="{escape(url)}">{escape(concept_id)}</a>' if url else escape(concept_id)
    return f"{shown} {escape(concept.canonical_name)}" if concept else shown


def _anchor(number: int, row: int) -> str:
    return f"d{number}m{row + 1}"
