"""`gene_species`: leave genes of other species without a link, or say of which species they are."""

from typing import Dict, Iterator, List, Optional

from spacy.language import Language
from spacy.tokens import Doc, Span

from ..text.gene_species import HUMAN, ORGANISMS, PREFIXES, GeneMention, GeneSpecies, SpeciesMention, species_of_genes
from ..types import NIL, Alternative, Link
from .attributes import get_links, set_kb_ents, set_links
from .component_settings import Component, add_factory, check_setting
from .mentions import mentions_of, sentence_starts, set_kb_ids

Found = List[Optional[GeneSpecies]]


class GeneSpeciesDetector(Component):
    """Finds the species of each gene, and removes the links of genes of other species than that of the vocabulary.

    Add it after the linker. It reads the species that are linked in the document, and common words for others. A
    removed link becomes `NIL`. Its reason names the species and the words of the text that show it, and the concept
    becomes the rejected one.

    `text.gene_species.species_of_genes` has the rules.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        spans_key: The span group with the mentions; None for `doc.ents`.
        gene_labels: The labels of genes.
        species_labels: The labels of species.
        home: The species of the genes in the vocabulary. Genes without another species are taken to be of this one.
        organisms: The species that can have genes. Others in the text have no effect. None takes the model organisms
            and farm animals of `text.gene_species.ORGANISMS`.
        prefixes: Letters before the symbol of a gene, each with its species. None takes `text.gene_species.PREFIXES`.
        orthologs: Keep the link of a gene of another species, to the gene of `home` with its name. The last of the
            link's `reasons` names the species.

    Raises:
        SapbertError: E406 `organisms` does not have `home`, or a prefix is not one letter.
    """

    fixed = ("organisms", "prefixes")
    shown = ("spans_key", "home", "orthologs")

    def __init__(
        self,
        nlp: Language,
        name: str = "gene_species",
        *,
        spans_key: Optional[str] = None,
        gene_labels: List[str] = ["Gene"],
        species_labels: List[str] = ["Species"],
        home: str = HUMAN,
        organisms: Optional[List[str]] = None,
        prefixes: Optional[Dict[str, str]] = None,
        orthologs: bool = False,
    ) -> None:
        self.keep(nlp, name, locals())
        self.organisms = frozenset(ORGANISMS if organisms is None else organisms)
        self.prefixes = dict(PREFIXES if prefixes is None else prefixes)
        check_setting(self, "organisms", home in self.organisms, f"species among which is `home`, {home}")
        check_setting(
            self, "prefixes", all(len(one) == 1 for one in self.prefixes), "single letters with their species"
        )

    def annotate(self, doc: Doc, found: Found) -> None:
        mentions = mentions_of(doc, self.spans_key)
        foreign = {number: gene for number, gene in enumerate(found) if gene is not None and gene.species != self.home}
        if self.orthologs:
            for number, gene in foreign.items():
                set_links(mentions[number], [_of_ortholog(link, gene) for link in get_links(mentions[number])])
        elif foreign:
            links = {number: get_links(mentions[number]) for number in foreign}
            kb_ids = [mention.kb_id_ for mention in mentions]
            for number in foreign:
                kb_ids[number] = NIL
            set_kb_ids(doc, mentions, kb_ids, self.spans_key)
            for number, gene in foreign.items():
                set_links(mentions[number], [_removed(link, gene) for link in links[number]])
                set_kb_ents(mentions[number], [])

    def find(self, doc: Doc) -> Found:
        """Return the species of each mention: None if it is no gene, or if the text names none."""
        mentions = mentions_of(doc, self.spans_key)
        genes = [number for number, mention in enumerate(mentions) if mention.label_ in self.gene_labels]
        found: Found = [None] * len(mentions)
        if genes:
            of_genes = species_of_genes(
                doc.text,
                [_gene(mentions[number]) for number in genes],
                [one for mention in mentions if mention.label_ in self.species_labels for one in _species(mention)],
                [doc[start].idx for start in sentence_starts(doc)],
                self.organisms,
                self.prefixes,
                self.home,
            )
            for number, species in zip(genes, of_genes):
                found[number] = species
        return found


# it does not assign doc.ents: what does so does not run on gold mentions
add_factory(GeneSpeciesDetector, assigns=["span._.kb_ents", "span._.links"], requires=["span._.links"])


def _gene(mention: Span) -> GeneMention:
    links = get_links(mention)
    return GeneMention(mention.start_char, mention.end_char, (links[0].name or "") if links else "")


def _species(mention: Span) -> Iterator[SpeciesMention]:
    for link in get_links(mention):
        if link.concept_id:
            yield SpeciesMention(mention.start_char, mention.end_char, link.concept_id)


def _removed(link: Link, found: GeneSpecies) -> Link:
    rejected = link.rejected
    if link.concept_id and link.score is not None and link.name is not None:
        rejected = Alternative(link.concept_id, link.score, link.name, link.probability)
    reason = f"a gene of another species, {_shown(found)}"
    return link._replace(concept_id=None, reason=reason, tie=None, rejected=rejected)


def _of_ortholog(link: Link, found: GeneSpecies) -> Link:
    reason = f"the gene in the text is of another species, {_shown(found)}"
    return link._replace(reasons=(*link.reasons, reason)) if link.concept_id else link


def _shown(found: GeneSpecies) -> str:
    return f'{found.species}, as "{found.evidence}" shows'
