"""Measure linking by the protocol of BELB (Garda et al. 2023, doi:10.1093/bioinformatics/btad698).

BELB is read from the folder that the scripts of its version v1 fill. There, `processed/corpora/CORPUS/HASH` has the
parts of a corpus as BioC JSON, and `conf.yaml` with the options of the script. `processed/kbs/KB` has the tables of a
knowledge base. BELB has already left out the mentions without a concept in its knowledge base.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from spacy.language import Language

from ..documents.reader import read_corpus
from ..errors import ChoiceError, EmptyError, NotFoundError, OptionError
from ..files.opening import sha256_of
from ..files.source import read_yaml
from ..kb.build import build_knowledge_base
from ..kb.database import FORMAT
from ..kb.ids import canonical_id
from ..kb.readers import ReadReport, read_vocabulary
from ..kb.readers.known_tables import CONFIG, ID_TABLE, KB_TABLE, NUMBERED
from ..metrics.counts import mean, percent
from ..metrics.linking_accuracy import CUTOFFS, belb_at, standard_error
from ..pipeline.factories import EXTERNAL, LINKER, RESOLVER
from ..pipeline.tokenizer import blank_pipeline, load_pipeline
from ..store.cache import cache_dir, make_once
from ..types import Document
from .running import find_linker, link_corpus

SPLITS = ("train", "dev", "test")


class BelbCorpus(NamedTuple):
    """A corpus of BELB, and the knowledge base that it is linked to.

    Attributes:
        folder: The name of the corpus in BELB.
        entity: The entity type. A corpus with several types has a folder for each.
        kb: The name of the knowledge base in BELB.
        subset: The part of the knowledge base that BELB uses for this corpus. None for all of it.
    """

    folder: str
    entity: str
    kb: str
    subset: str | None = None


CORPORA = {
    "ncbi_disease": BelbCorpus("ncbi_disease", "disease", "ctd_diseases"),
    "bc5cdr_disease": BelbCorpus("bc5cdr", "disease", "ctd_diseases"),
    "bc5cdr_chemical": BelbCorpus("bc5cdr", "chemical", "ctd_chemicals"),
    "nlm_chem": BelbCorpus("nlm_chem", "chemical", "ctd_chemicals"),
    "gnormplus": BelbCorpus("gnormplus", "gene", "ncbi_gene", "gnormplus"),
    "nlm_gene": BelbCorpus("nlm_gene", "gene", "ncbi_gene", "nlm_gene"),
    "s800": BelbCorpus("s800", "species", "ncbi_taxonomy"),
    "linnaeus": BelbCorpus("linnaeus", "species", "ncbi_taxonomy"),
    "bioid_cell_line": BelbCorpus("bioid", "cell_line", "cellosaurus"),
    "medmentions": BelbCorpus("medmentions", "umls", "umls"),
}
"""The corpora by the names of BELB's results. Its corpora of variants, which link to dbSNP, are not among them."""


def evaluate_belb(
    folder: Path,
    *,
    split: str = "dev",
    corpora: Collection[str] = (),
    encoder: str = "starter",
    pipelines: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Measure strict recall at 1 and 5 on the corpora of BELB, each with its own knowledge base.

    The pipeline of a corpus has an `abbreviation_resolver` and a `sapbert_linker`. Its knowledge base is built from
    BELB's tables once, and kept in the cache folder.

    Args:
        folder: BELB's folder, which has `processed`.
        split: One of `SPLITS`.
        corpora: Names from `CORPORA`. If empty, all of them.
        encoder: The encoder of the pipelines, as the linker's setting has it.
        pipelines: Saved pipelines to measure instead, by the name of their corpus.

    Returns:
        `corpora` has the figures by corpus. `documents` and `mentions` are counts. `not_in_vocabulary` counts the
        mentions of which the vocabulary has no id; they are wrong. `r@1` and `r@5` are percentages over all mentions,
        and `se` is the standard error of `r@1` over documents. `concepts` and `names` are those of the vocabulary.
        `missing` has the other corpora that were asked for, with the reason. `split` is the split.

    Raises:
        ChoiceError: There is no such corpus or split.
        EmptyError: BELB's folder has none of the corpora.
        SapbertError: A file of a corpus or a knowledge base is broken, or a pipeline does not fit.
    """
    for name in {*corpora, *pipelines}.difference(CORPORA):
        raise ChoiceError(given=name, what="corpus of BELB", choices=CORPORA)
    if split not in SPLITS:
        raise ChoiceError(given=split, what="split of BELB", choices=SPLITS)
    for name in pipelines.keys() - set(corpora or CORPORA):
        raise OptionError(option=f"The pipeline {name}={pipelines[name]}", reason="this corpus is not to be measured")
    missing: dict[str, str] = {}
    documents: dict[str, list[Document]] = {}
    for name in corpora or CORPORA:
        try:
            path = _find_part(folder, CORPORA[name], split)
            if name not in pipelines:
                _find_tables(folder, CORPORA[name])
        except NotFoundError as error:
            missing[name] = str(error)
        else:  # all files are read before the first is linked, so that a broken one shows at once
            documents[name] = list(_read(path, NUMBERED.get(CORPORA[name].kb)))
    if not documents:
        remedy = next(iter(missing.values()))
        raise EmptyError(remedy, what=f"corpus of BELB in {folder} with its tables", consequence="nothing was measured")
    given = {name: load_pipeline(pipeline) for name, pipeline in pipelines.items() if name in documents}
    results = {}
    for name, some in documents.items():
        nlp = given.get(name) or _new_pipeline(folder, CORPORA[name], encoder)
        results[name] = _measure(nlp, some)
    return {"split": split, "corpora": results, "missing": missing}


# --- the files of BELB


def _find_part(folder: Path, corpus: BelbCorpus, split: str) -> Path:
    """Return the file of a part: with whole texts, without marks, and with all mentions."""
    place = folder / "processed" / "corpora" / corpus.folder
    for config in sorted(place.glob(f"*/{CONFIG}")):
        part = config.with_name(f"{split}.bioc.json")
        if part.is_file() and _is_plain(read_yaml(config, "BELB writes the options of a corpus here"), corpus.entity):
            return part
    options = "with --pubtator for full texts and genes, without --sentences and --markers"
    remedy = (
        f"BELB's version v1 makes it: python -m belb.corpora.{corpus.folder} --dir {folder} --db db.yaml, {options}."
    )
    raise NotFoundError(remedy, what=f"{split}.bioc.json of type {corpus.entity} in {place}")


def _is_plain(config: Mapping[str, Any], entity: str) -> bool:
    changed = ("sentences", "mention_markers", "annotations_file")
    is_whole = config.get("max_mentions") in (None, -1)  # else each document is repeated, with some mentions each time
    return str(config.get("entity_type")).lower() == entity and is_whole and not any(map(config.get, changed))


def _find_tables(folder: Path, corpus: BelbCorpus) -> Path:
    place = folder / "processed" / "kbs" / corpus.kb
    if not (place / KB_TABLE).is_file():
        license = ", with --data_dir and a license of UMLS" if corpus.kb == "umls" else ""
        remedy = f"BELB's version v1 makes it: python -m belb.kbs.{corpus.kb} --dir {folder} --db db.yaml{license}."
        raise NotFoundError(remedy, what=f"file {KB_TABLE} in {place}")
    return place


def _read(path: Path, prefix: str | None) -> Iterator[Document]:
    """Yield the documents of a part. Ids that are numbers get the prefix of their knowledge base."""
    for document in read_corpus(path, "bioc"):
        mentions = (
            mention._replace(ids=tuple(canonical_id(concept_id, prefix) for concept_id in mention.ids))
            for mention in document.mentions
        )
        yield document._replace(mentions=tuple(mentions))


# --- measuring


def _new_pipeline(folder: Path, corpus: BelbCorpus, encoder: str) -> Language:
    """Return a pipeline without a splitter, since BELB's measure takes one concept for each mention."""
    nlp = blank_pipeline("en")
    nlp.add_pipe(RESOLVER)
    kb = _knowledge_base(_find_tables(folder, corpus), corpus.subset)
    nlp.add_pipe(LINKER, config={"kb": str(kb), "encoder": encoder, "storage": EXTERNAL})
    return nlp


def _knowledge_base(tables: Path, subset: str | None) -> Path:
    """Return the knowledge base of BELB's tables. It is built unless the cache folder has it."""
    files = (tables / name for name in (KB_TABLE, ID_TABLE, CONFIG))
    sums = [sha256_of(file) for file in files if file.is_file()]
    key = hashlib.sha256(repr((FORMAT, subset, sums)).encode()).hexdigest()[:16]
    path = cache_dir() / "belb" / f"{tables.name}-{key}.kb"

    def build() -> None:
        records = read_vocabulary(tables, "belb", report=ReadReport(), strict=True, subset=subset)
        build_knowledge_base(records, path)

    make_once(path, path.is_file, build)
    return path


def _measure(nlp: Language, documents: Sequence[Document]) -> dict[str, Any]:
    kb = find_linker(nlp).kb
    right: dict[int, list[bool]] = {k: [] for k in CUTOFFS}
    doc_ids: list[str] = []
    unknown = 0
    for linked in link_corpus(nlp, documents):
        concepts = {concept_id for given in linked.mention.ids for concept_id in kb.find_id(given)}
        parts = [[candidate.concept_id for candidate in part.candidates] for part in linked.parts]
        for k, some in right.items():
            some.append(belb_at(k, concepts, parts))
        doc_ids.append(linked.doc_id)
        unknown += not concepts
    return {
        "documents": len(documents),
        "mentions": len(doc_ids),
        "not_in_vocabulary": unknown,
        **{f"r@{k}": percent(mean(some)) for k, some in right.items()},
        "se": standard_error(right[CUTOFFS[0]], doc_ids),
        "concepts": len(kb),
        "names": kb.n_names,
    }
