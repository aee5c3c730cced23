"""Measure how fast encoders encode. With `--engines`, several libraries compute the first encoder.

Batches are sorted by length. Encoders use bfloat16 if the hardware has it. Each encodes the same names of a vocabulary
in turns, in one process. The ratios are to the first encoder.

With `--engines`, one thread is used and processor time is measured, the least of all turns. Texts are mentions of the
corpora, or else names. The figures of an engine are:

- `ms_many`, `ms_batch`, `ms_single`: milliseconds per text, for all names at once, 64 texts at a time, and one text.
- `cosine_min`, `cosine_mean`: to float32 by transformers.
- `alone_min`: the least cosine of a text that is encoded alone to the same text in a batch.
- `bytes`: the size of the file that ONNX Runtime reads. The others read the encoder folder.
- `acc@1`: the mentions of each corpus whose nearest name has a gold concept. The engine encodes names and mentions.

ONNX Runtime needs the packages onnx and onnxruntime. To see a CPU without AVX-512, set these variables. ONNX Runtime
has no such switch, and uses what the CPU has:

    ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2

    python benchmarks/encoding_speed.py KB ENCODER ENCODER … [--pooling mean] [--names 4000] [--turns 5]
    python benchmarks/encoding_speed.py KB ENCODER --engines [--corpus dev.txt --type Disease]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.encoders.info import describe
from spacy_sapbert.encoders.transformer import TransformerEncoder, has_bfloat16
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.storage import load_knowledge_base

BATCH, SINGLE = 64, 200
VARIABLES = ("ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")
START = """
import sys, time
import spacy
imported = time.process_time()
from spacy_sapbert.encoders.transformer import TransformerEncoder
encoder = TransformerEncoder(sys.argv[1], device="cpu")
if sys.argv[2] == "transformers":
    encoder.model, encoder.tokenizer
encoder.encode(["breast cancer"])
print(imported, time.process_time() - imported)
"""

# --- engines


class Transformers(TransformerEncoder):
    """An encoder that transformers computes."""

    def _plain_bert(self) -> None:
        return None


class Int8(Transformers):
    """Torch's dynamic quantization: int8 weights, each row with its scale, and one scale for all texts of a batch."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = {torch.nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig}
            self.replace(torch.ao.quantization.quantize_dynamic(self.model, config))


class Onnx(Transformers):
    """ONNX Runtime, in float32 or with dynamic quantization by row."""

    def __init__(self, name: str, folder: Path, *, int8: bool, **settings: Any) -> None:
        super().__init__(name, **settings)
        import onnxruntime

        path = folder / "float32.onnx"
        if not path.exists():
            _export(self, path)
        if int8:
            from onnxruntime.quantization import QuantType, quantize_dynamic

            quantize_dynamic(path, folder / "int8.onnx", per_channel=True, weight_type=QuantType.QInt8)
            path = folder / "int8.onnx"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.bytes = path.stat().st_size
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def _forward(self, batch: list[list[int]], fast: bool) -> np.ndarray:
        ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, pieces in enumerate(batch):
            ids[row, : len(pieces)], mask[row, : len(pieces)] = pieces, 1
        hidden = torch.from_numpy(self._session.run(None, {"ids": ids, "mask": mask})[0])
        return self._scale(self._pool(hidden, torch.from_numpy(mask))).numpy()


def _export(encoder: Onnx, path: Path) -> None:
    class Hidden(torch.nn.Module):
        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            hidden: torch.Tensor = encoder.model(input_ids=ids, attention_mask=mask).last_hidden_state
            return hidden

    module = Hidden()
    module.model = encoder.model
    names, axes = ["ids", "mask", "hidden"], {0: "texts", 1: "pieces"}
    ids = torch.ones(2, 5, dtype=torch.long)
    encoder.model.config._attn_implementation = "eager"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (ids, ids),
            path,
            input_names=names[:2],
            output_names=names[2:],
            dynamic_axes=dict.fromkeys(names, axes),
            opset_version=17,
            dynamo=False,
        )


def open_engines(name: str, pooling: str | None, folder: Path) -> dict[str, tuple[TransformerEncoder, bool]]:
    """Return all engines that are installed, each with whether it uses bfloat16."""
    settings = {"pooling": pooling, "device": "cpu"}
    plain, theirs = TransformerEncoder(name, **settings), Transformers(name, **settings)
    found: dict[str, tuple[TransformerEncoder, bool]] = {
        "transformers float32": (theirs, False),
        "plain float32": (plain, False),
        "torch int8": (Int8(name, **settings), False),
    }
    if has_bfloat16("cpu"):
        found |= {"transformers bfloat16": (theirs, True), "plain bfloat16": (plain, True)}
    if all(map(importlib.util.find_spec, ("onnx", "onnxruntime"))):
        for kind in ("float32", "int8"):
            found[f"ONNX Runtime {kind}"] = (Onnx(name, folder, int8=kind == "int8", **settings), False)
    return found


# --- measures


def compare_engines(name: str, pooling: str | None, kb: KnowledgeBase, args: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(1)
    names = _sample(kb, args.names)
    corpora = {path.name: _mentions(path, args.type) for path in args.corpus}
    texts = list(dict.fromkeys(text for mentions in corpora.values() for text, _ in mentions)) or names
    results: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        engines = open_engines(name, pooling, Path(folder))
        exact = engines["transformers float32"][0].encode(texts)
        for label, (encoder, fast) in engines.items():
            results[label] = _speed(encoder, fast, names, texts, args.turns) | _exactness(encoder, fast, texts, exact)
            size = getattr(encoder, "bytes", None)
            results[label] |= {"bytes": size} if size else {}
            if corpora:
                results[label]["acc@1"] = _accuracy(encoder, fast, kb, corpora)
    start = {how: _start(engines["plain float32"][0].name, how) for how in ("plain", "transformers")}
    setting = {"bfloat16": has_bfloat16("cpu"), **{name: os.environ.get(name) for name in VARIABLES}}
    return {"names": len(names), "texts": len(texts), **setting, "start": start, "engines": results}


def _speed(encoder: TransformerEncoder, fast: bool, names: list[str], texts: list[str], turns: int) -> dict[str, float]:
    def many() -> None:
        encoder.encode(names, fast=fast)

    def batches() -> None:
        for start in range(0, len(texts), BATCH):
            encoder.encode(texts[start : start + BATCH], fast=fast)

    def singles() -> None:
        for text in texts[:SINGLE]:
            encoder.encode([text], fast=fast)

    encoder.encode(texts[:BATCH], fast=fast)
    return {
        "ms_many": _milliseconds(many, turns) / len(names),
        "ms_batch": _milliseconds(batches, turns) / len(texts),
        "ms_single": _milliseconds(singles, turns) / len(texts[:SINGLE]),
    }


def _milliseconds(work: Callable[[], None], turns: int) -> float:
    spent = []
    for _ in range(turns):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return 1000 * min(spent)


def _exactness(encoder: TransformerEncoder, fast: bool, texts: list[str], exact: np.ndarray) -> dict[str, float]:
    vectors = encoder.encode(texts, fast=fast)
    alone = np.concatenate([encoder.encode([text], fast=fast) for text in texts[:SINGLE]])
    cosines = _cosines(vectors, exact)
    return {
        "cosine_min": float(cosines.min()),
        "cosine_mean": float(cosines.mean()),
        "alone_min": float(_cosines(alone, vectors[:SINGLE]).min()),
    }


def _cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines: np.ndarray = (left * right).sum(axis=1) / lengths
    return cosines


def _accuracy(
    encoder: TransformerEncoder, fast: bool, kb: KnowledgeBase, corpora: dict[str, list[tuple[str, set[str]]]]
) -> dict[str, float]:
    names = encoder.encode(list(kb.names()), fast=fast)
    found = {}
    for corpus, mentions in corpora.items():
        texts = list(dict.fromkeys(text for text, _ in mentions))
        vectors = encoder.encode(texts, fast=fast)
        nearest = {text: int((names @ vector).argmax()) for text, vector in zip(texts, vectors, strict=True)}
        right = [bool(_concepts(kb, nearest[text]) & ids) for text, ids in mentions]
        found[corpus] = round(100 * sum(right) / len(right), 2)
    return found


def _concepts(kb: KnowledgeBase, row: int) -> set[str]:
    """Return all ids of the concepts with a name."""
    return {id for concept in kb.find_name(kb.name(row)) for id in kb.ids(concept)}


def _mentions(path: Path, type: str | None) -> list[tuple[str, set[str]]]:
    return [
        (mention.text, set(mention.ids))
        for document in read_corpus(path, "pubtator")
        for mention in document.mentions
        if mention.ids and type in (None, mention.label)
    ]


def _start(name: str, how: str) -> dict[str, float]:
    """Return the seconds of processor time to import spaCy, and then to load the encoder and encode a text."""
    command = [sys.executable, "-c", START, name, how]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    imported, encoded = map(float, output.split())
    return {"import_spacy_s": round(imported, 2), "first_text_s": round(encoded, 2)}


def compare_encoders(encoders: Sequence[TransformerEncoder], names: list[str], turns: int) -> dict[str, Any]:
    for encoder in encoders:
        encoder.encode(names[:256], fast=True)
    seconds: list[list[float]] = [[] for _ in encoders]
    for _ in range(turns):
        for encoder, spent in zip(encoders, seconds, strict=True):
            start = time.perf_counter()
            encoder.encode(names, fast=True)
            spent.append(time.perf_counter() - start)
    found = []
    for encoder, spent in zip(encoders, seconds, strict=True):
        about = describe(encoder)
        pieces = sum(map(len, encoder.tokenize(names))) / len(names)
        ratios = [first / own for first, own in zip(seconds[0], spent, strict=True)]
        measured = {"names_per_s": round(len(names) / median(spent)), "times_the_first": round(median(ratios), 2)}
        shape = {"layers": about["layers"], "bytes": about["bytes"], "pieces_per_name": round(pieces, 2)}
        found.append({"encoder": encoder.name, **measured, **shape})
    setting = {"threads": torch.get_num_threads(), "bfloat16": has_bfloat16(encoders[0].device)}
    return {"names": len(names), **setting, "encoders": found}


def _sample(kb: KnowledgeBase, n: int) -> list[str]:
    names = list(kb.names())
    return random.Random(0).sample(names, min(n, len(names)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kb", help="Knowledge base.")
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--pooling")
    parser.add_argument("--names", type=int, default=4000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--engines", action="store_true", help="Compare the libraries that compute the first encoder.")
    parser.add_argument("--corpus", type=Path, action="append", default=[], help="PubTator file. Repeatable.")
    parser.add_argument("--type", help="Type of the mentions to read. Default: all.")
    args = parser.parse_args()
    kb = load_knowledge_base(args.kb)
    if args.engines:
        result = compare_engines(args.encoders[0], args.pooling, kb, args)
    else:
        encoders = [TransformerEncoder(name, pooling=args.pooling) for name in args.encoders]
        result = compare_encoders(encoders, _sample(kb, args.names), args.turns)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
