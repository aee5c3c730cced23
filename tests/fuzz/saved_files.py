"""Files that the package itself wrote, and somebody changed: knowledge bases, caches, corrections, components."""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from spacy_sapbert.encoders.ngrams import NgramEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.check import check_knowledge_base
from spacy_sapbert.kb.info import describe
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.linking.parameters import LinkerParameters
from spacy_sapbert.linking.rerank_features import FEATURES, WordRarity
from spacy_sapbert.linking.reranker import Reranker
from spacy_sapbert.linking.spelling_files import load_corrector, save_corrector
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.retrieval.concept_set import ConceptSet
from spacy_sapbert.retrieval.concept_vectors import cached_concept_vectors
from spacy_sapbert.retrieval.mention_model import FEATURES as MODEL_FEATURES
from spacy_sapbert.retrieval.retriever import N_FEATURES
from spacy_sapbert.retrieval.storage import _load_fitted
from spacy_sapbert.review.correction import Correction
from spacy_sapbert.review.corrections_file import CorrectionsFile
from spacy_sapbert.runs.pipelines import load_pipeline
from spacy_sapbert.store.component import MANIFEST_FILE, read_component
from spacy_sapbert.text.spelling import CorrectionList, KnownWords
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors.flat import cached_name_vectors, cached_table, text_hashes
from spacy_sapbert.vectors.ngram_index import cached_ngram_index

from .running import Files, Target

TEXTS = ["breast cancer", "ataxia", "aspirin", "a", ""]
_CONCEPTS = {
    "D001943": ("Disease", "Breast Neoplasms|breast cancer|Cancer, Breast"),
    "D010051": ("Disease", "Ovarian Neoplasms|ovarian cancer"),
    "D003550": ("Disease", "Cystic Fibrosis|CF|mucoviscidosis"),
    "D003139": ("Disease", "Common Cold|cold"),
    "D003080": ("Phenomenon", "cold|Cold Temperature"),
    "D001241": ("Chemical", "Aspirin|acetylsalicylic acid|ASA"),
}


@cache
def folder_of(name: str) -> Path:
    """Return a folder for files that stay as they are."""
    path = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path / name


@cache
def small_kb() -> KnowledgeBase:
    """Return a small knowledge base."""
    records = [
        Record(
            concept_id,
            tuple(Name(text, "exact" if at else "preferred", "X") for at, text in enumerate(names.split("|"))),
            types=(type,),
            alternative_ids=(f"OMIM:{concept_id[1:]}",),
            parents=("D001943",) if concept_id == "D010051" else (),
            definition="A thing.",
            xrefs=("C1",),
        )
        for concept_id, (type, names) in _CONCEPTS.items()
    ]
    folder_of("small.kb").parent.mkdir(exist_ok=True)
    return build_knowledge_base(records, folder_of("small.kb"))


def files_in(folder: Path) -> Files:
    """Return the content of the files of a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def made(make: Callable[[Path], object]) -> Files:
    """Return the files that a function writes to a folder."""
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        return files_in(Path(folder))


# --- knowledge bases and corrections


def use_kb(folder: Path) -> None:
    """Read all that a knowledge base has. Values that are possible may differ."""
    kb = KnowledgeBase(folder / "a.kb")
    with suppress(AssertionError):
        ids, rows = list(kb.concept_ids()), range(len(kb))
        names = list(kb.names())
        kb.names_at(range(kb.n_names))
        for concept_id in ids:
            kb.get(concept_id)
            kb.name_rows(concept_id)
            kb.concept_rows(concept_id)
        kb.summaries_of(ids)
        kb.labels_of(ids)
        kb.xrefs_of(ids)
        kb.types_at(rows)
        kb.concept_ids_at(rows)
        kb.tie_ranks.sum()
        kb.matching_entries(list(kb.type_counts()), list(kb.source_counts()))
        kb.annotations_of([(concept_id, names[0]) for concept_id in ids])
        kb.stop_name_rows()
        json.dumps(describe(kb))
    if (folder / "a.kb").stat().st_size and sum((folder / "a.kb").read_bytes()[-64:]) % 4 == 0:
        json.dumps(check_knowledge_base(kb)["problems"])


def corrections() -> list[Files]:
    """Return a file of corrections."""

    def make(folder: Path) -> None:
        file = CorrectionsFile(folder / "c.db", create=True)
        (key,) = file.add_documents([("1", "a cold")], "notes")
        file.add(
            [
                Correction("replace", "corpus", key, 2, 6, "cold", ("D003139",), "Disease", "me", "", "why"),
                Correction("reject", "occurrence", key, 2, 6, "cold", ("D1",), "Disease", "me", "", ""),
            ]
        )

    return [made(make)]


def use_corrections(folder: Path) -> None:
    """Read all corrections, and what they decide; then add and undo one."""
    file = CorrectionsFile(folder / "c.db")
    file.corrections()
    list(file.documents())
    list(file.links())
    file.decisions()
    _ = file.state, file.secret, file.fingerprint
    file.undo(1)
    file.copy(folder / "copy.db")


# --- caches


@cache
def encoder_folder() -> Path:
    """Return the folder of a tiny encoder with random weights."""
    import torch
    import transformers
    from tokenizers import BertWordPieceTokenizer

    folder = folder_of("encoder")
    folder.mkdir(parents=True, exist_ok=True)
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cancer", *letters, *(f"##{one}" for one in letters)]
    BertWordPieceTokenizer({piece: at for at, piece in enumerate(pieces)}).save_model(str(folder))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=32, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    (folder / "spacy_sapbert.json").write_text(json.dumps({"pooling": "mean"}))
    return folder


@cache
def encoder() -> TransformerEncoder:
    """Return the tiny encoder."""
    return TransformerEncoder(str(encoder_folder()))


def use_vectors() -> list[np.ndarray]:
    vectors = cached_name_vectors(small_kb(), encoder())
    return [*vectors.nearest(encoder().encode(TEXTS), 3), vectors.encode(TEXTS)]


def use_concepts() -> list[np.ndarray]:
    vectors = cached_concept_vectors(ConceptSet(small_kb()), encoder(), "packed")
    return [*vectors.nearest(encoder().encode(TEXTS), 3)]


def use_ngrams() -> list[np.ndarray]:
    index = cached_ngram_index(small_kb(), "biosyn")
    return [*index.search(TEXTS, 3), *index.search_together(TEXTS, 3)]


def use_matcher() -> list[np.ndarray]:
    found = NameMatcher.cached(small_kb()).find("Breast cancers, ataxia telangiectasia and aspirin.")
    return [np.array([[match.start, match.end, match.row] for match in found])]


def use_names() -> list[np.ndarray]:
    table = cached_table(small_kb(), "forms", lambda: text_hashes(small_kb().names(), encoder()))
    return [table.find(text_hashes(TEXTS, encoder())), *table.find_all(text_hashes(TEXTS, encoder()))]


CACHES: dict[str, Callable[[], list[np.ndarray]]] = {
    "vectors": use_vectors,
    "concepts": use_concepts,
    "ngrams": use_ngrams,
    "matchers": use_matcher,
    "names": use_names,
}


def cache_files(use: Callable[[], object]) -> list[Files]:
    """Return the files that a use of the cache leaves there."""

    def make(folder: Path) -> None:
        with cache_in(folder):
            use()
            gc.collect()

    files = made(make)
    return [{name: content for name, content in files.items() if not name.endswith((".lock", ".tmp"))}]


@contextlib.contextmanager
def cache_in(folder: Path) -> Iterator[None]:
    """Use a folder as the cache."""
    before = os.environ.get("SPACY_SAPBERT_CACHE")
    os.environ["SPACY_SAPBERT_CACHE"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("SPACY_SAPBERT_CACHE")
        if before is not None:
            os.environ["SPACY_SAPBERT_CACHE"] = before


def use_cache(folder: Path, use: Callable[[], list[np.ndarray]]) -> None:
    """Use a changed cache. What it returns are numbers, and no rows outside."""
    with cache_in(folder):
        for array in use():
            assert np.isfinite(array).all()
            assert array.dtype.kind == "f" or -1 <= array.min(initial=0) <= array.max(initial=0) < 1000


# --- files of components


def use_encoder(folder: Path) -> None:
    """Load an encoder, and encode texts."""
    with contextlib.redirect_stderr(None):
        encoding = TransformerEncoder(str(folder))
        vectors = encoding.encode(["cancer", "a", ""])
    assert vectors.ndim == 2
    assert len(vectors) == 3


def reranker_files() -> list[Files]:
    """Return a saved reranker."""
    trees = Trees(np.array([[0]], np.int32), np.array([[0.5]]), np.array([[0.5, 0.0, 1.0]]))
    reranker = Reranker(trees, 0.5, WordRarity({"of": 0.5, "cancer": 2.0}, 3.0))
    return [made(reranker.save)]


def use_reranker(folder: Path) -> None:
    """Load a reranker, and rate candidates."""
    reranker = Reranker.load(folder)
    if reranker:
        rows = np.zeros((2, sum(map(len, FEATURES.values()))))
        assert np.isfinite(reranker.trees.predict(rows)).all()
        reranker.trees.contributions(rows)


def use_ngram_encoder(folder: Path) -> None:
    """Load n-gram weights, and encode texts."""
    vectors = NgramEncoder.load(folder).encode(TEXTS)
    assert np.isfinite(vectors.data).all()


@cache
def linking_nlp() -> Any:
    """Return a pipeline without an encoder."""
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(
        [{"label": "Disease", "pattern": one} for one in ("cold", "CF", "aspirin")]
    )
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("concept_matcher", config={"kb": str(small_kb().path)})
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb().path), "encoder": "none"})
    return nlp


@cache
def pipeline_folder() -> Path:
    """Return the folder of a saved pipeline."""
    linking_nlp().to_disk(folder_of("pipeline"))
    return folder_of("pipeline")


OURS = ("sapbert_linker/", "concept_matcher/", "shared/")


def pipeline_files() -> list[Files]:
    """Return the files of a saved pipeline that are not spaCy's own."""
    return [{name: content for name, content in files_in(pipeline_folder()).items() if name.startswith(OURS)}]


def use_pipeline(folder: Path) -> None:
    """Load a pipeline whose files were changed, and link a text. Half of the manifests know the new sizes."""
    for path in pipeline_folder().iterdir():
        if f"{path.name}/" not in OURS:
            copy = shutil.copytree if path.is_dir() else shutil.copyfile
            copy(path, folder / path.name)
    if sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) % 4:
        for manifest in folder.glob(f"*/{MANIFEST_FILE}"):
            with suppress(Exception):
                _with_sizes(manifest)
    nlp = load_pipeline(str(folder))
    for doc in nlp.pipe(["A cold, CF and aspirin in breast and ovarian cancer."]):
        json.dumps([[link.concept_id for link in ent._.links] for ent in doc.ents])


def _with_sizes(manifest: Path) -> None:
    content = json.loads(manifest.read_text())
    for name in content["files"]:
        if (manifest.parent / name).is_file():
            content["files"][name] = (manifest.parent / name).stat().st_size
    manifest.write_text(json.dumps(content))


def fitted_retriever() -> list[Files]:
    """Return what the training of a retriever fits."""
    words = [{"cold": 2}, {"cold": 1}, {"cold": 1}, {"cold": 1}]
    counts = {"concepts": {"D1": 2}, "texts": {"cold": 3}, "marked": {"cold": 1}, "share": 0.5, "words": words}
    n = N_FEATURES["phrases"]
    weights = {"signals": [["phrases", n]], "weights": [0.5] * n, "means": [0] * n, "bias": 0.0, "threshold": 0.5}
    model = {"weights": [0.5] * len(MODEL_FEATURES), "bias": 0.1}
    return [{"fitted.json": json.dumps({"counts": counts, "mention_model": model, "weights": weights}).encode()}]


def use_fitted_retriever(folder: Path) -> None:
    """Load what was fitted, and use the counts."""
    retriever: Any = SimpleNamespace()
    _load_fitted(retriever, folder / "fitted.json")
    if retriever.counts:
        assert np.isfinite(retriever.counts.word_shares).all()
        retriever.counts.documents_with(["D1"])
        assert np.isfinite(retriever.counts.log_odds("cold"))
    if retriever.mention_model:
        assert np.isfinite(retriever.mention_model.probabilities(np.ones((2, len(MODEL_FEATURES))))).all()


def use_component(folder: Path) -> None:
    """Check the files of a component."""
    read_component(folder / "sapbert_linker", in_pipeline=True)


def targets() -> Iterator[Target]:
    """Yield the targets that read saved files."""
    yield Target("saved:kb", lambda: [{"a.kb": small_kb().path.read_bytes()}], use_kb, 0.2)
    yield Target("saved:corrections", corrections, use_corrections, 0.1)
    for kind, use in CACHES.items():
        yield Target(f"cache:{kind}", partial(cache_files, use), partial(use_cache, use=use), 0.1)
    yield Target(
        "saved:component",
        pipeline_files,
        lambda folder: read_component(folder / "sapbert_linker", in_pipeline=True),
        0.3,
    )
    yield Target("saved:pipeline", pipeline_files, use_pipeline, 0.03)
    yield Target("saved:encoder", lambda: [files_in(encoder_folder())], use_encoder, 0.03)
    yield Target("saved:reranker", reranker_files, use_reranker, 0.3)
    yield Target("saved:retriever", fitted_retriever, use_fitted_retriever, 0.3)
    parts: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
        "parameters": (LinkerParameters(threshold=0.5, sparse_weight=1.0).save, LinkerParameters.load),
        "ngrams": (NgramEncoder.fit(TEXTS).save, use_ngram_encoder),
        "corrector": (partial(save_corrector, CorrectionList({"a": "b"})), load_corrector),
        "words": (partial(save_corrector, KnownWords({"cancer": 3, "cold": 1})), load_corrector),
    }
    for name, (save, read) in parts.items():
        yield Target(f"saved:{name}", partial(_saved, save), read, 0.5)


def _saved(save: Callable[[Path], object]) -> list[Files]:
    return [made(save)]
