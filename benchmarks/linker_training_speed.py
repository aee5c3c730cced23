"""Measure how many mentions per second the training of the linker takes, compared with BioSyn's published loop.

The plain loop follows github.com/dmis-lab/BioSyn. It finds the candidates of one mention at a time, with n-gram vectors
as a dense matrix. It pads every mention and name to 25 wordpieces. It encodes all candidates of a batch of 16 mentions,
and takes the marginal likelihood of the right ones.

Both loops train copies of the same weights on the same mentions in float32. They run in turns of a few steps, in one
process. The time excludes the encoding of all names of the vocabulary, once per epoch.

    python benchmarks/linker_training_speed.py ENCODER KB CORPUS.spacy [--turns 3] [--steps 3] [--pooling mean]
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median
from typing import Any

import numpy as np
import torch
from pretraining_speed import plain_vectors
from thinc.api import Adam

from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.documents.docs import from_doc
from spacy_sapbert.encoders.ngrams import TEXT_NORMALIZER
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.training.biosyn_settings import BioSyn
from spacy_sapbert.training.candidate_losses import marginal_likelihood
from spacy_sapbert.training.linker_trainer import LinkerTrainer
from spacy_sapbert.training.name_candidates import TrainingMention
from spacy_sapbert.vectors.flat import cached_name_vectors
from spacy_sapbert.vectors.ngram_index import cached_ngram_index

K, BATCH = 20, 16
Batch = list[TrainingMention]


def read_mentions(path: str, kb: KnowledgeBase) -> Batch:
    """Return the different mentions with one id that the vocabulary has."""
    mentions = [mention for doc in read_docbin(path) for mention in from_doc(doc).mentions if len(mention.ids) == 1]
    found = (TrainingMention(one.text, frozenset(kb.concept_rows(one.ids[0]))) for one in mentions)
    return list(dict.fromkeys(mention for mention in found if mention.concepts))


class Plain:
    """BioSyn's step."""

    def __init__(self, generator: CandidateGenerator) -> None:
        assert generator.ngram_encoder is not None
        assert generator.vectors is not None
        self.generator = generator
        self.encoder = generator.vectors.encoder
        self.names = list(generator.kb.names())
        self.sparse = generator.ngram_encoder.encode(self.names).toarray()
        self.dense = np.asarray(generator.vectors.vectors)
        self.weight = torch.nn.Parameter(torch.tensor([0.2]))
        groups = [{"params": self.encoder.model.parameters(), "lr": 1e-5}, {"params": [self.weight], "lr": 0.01}]
        self.optimizer = torch.optim.AdamW(groups, weight_decay=0.01)

    def step(self, batch: Batch) -> None:
        rows, sparse = zip(*map(self.candidates, batch), strict=True)
        mentions = plain_vectors(self.encoder, [mention.text for mention in batch])
        names = plain_vectors(self.encoder, [self.names[row] for of_one in rows for row in of_one])
        scores = torch.einsum("md,mkd->mk", mentions, names.reshape(len(batch), K, -1))
        scores = scores + self.weight * torch.from_numpy(np.stack(sparse))
        right = torch.tensor(
            [[self.is_right(row, mention) for row in of_one] for of_one, mention in zip(rows, batch, strict=True)]
        )
        likelihood = (scores.softmax(-1) * right).sum(-1)
        (-likelihood.clamp(1e-9, 1).log()).mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def candidates(self, mention: TrainingMention) -> tuple[list[int], np.ndarray]:
        with torch.inference_mode():
            vector = plain_vectors(self.encoder, [mention.text]).numpy()[0]
        sparse = self.sparse @ self.generator.ngram_encoder.encode([mention.text]).toarray()[0]  # type: ignore[union-attr]
        rows = np.argsort(-sparse)[: K // 2].tolist()
        for row in np.argsort(-(self.dense @ vector))[:K].tolist():
            if len(rows) < K and row not in rows:
                rows.append(row)
        return rows, sparse[rows]

    def is_right(self, row: int, mention: TrainingMention) -> bool:
        _, owners = self.generator.kb.name_concepts.of(np.array([row]))
        return not mention.concepts.isdisjoint(self.generator.kb.name_concepts.concepts[owners].tolist())


class Ours:
    def __init__(self, generator: CandidateGenerator) -> None:
        self.trainer = LinkerTrainer(Linker(generator), BioSyn(marginal_likelihood, k=K))
        self.optimizer = Adam(1e-5, L2=0.01, L2_is_weight_decay=True)

    def step(self, batch: Batch) -> None:
        scores, backprop = self.trainer.begin_update(batch)
        _, gradients = marginal_likelihood(scores.scores, scores.right)
        backprop(gradients / len(gradients))
        self.trainer.finish_update(self.optimizer)


def speed(one: Any, batches: list[Batch]) -> float:
    """Return the mentions per second."""
    started = time.perf_counter()
    for batch in batches:
        one.step(batch)
    return sum(map(len, batches)) / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder")
    parser.add_argument("kb")
    parser.add_argument("corpus")
    parser.add_argument("--pooling")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    kb = KnowledgeBase(args.kb)
    ngrams = cached_ngram_index(kb, TEXT_NORMALIZER)
    generators = []
    for _ in range(2):
        encoder = TransformerEncoder(args.encoder, pooling=args.pooling, device="cpu")
        generators.append(CandidateGenerator(kb, ngrams, cached_name_vectors(kb, encoder)))
    mentions = read_mentions(args.corpus, kb)
    order = np.random.default_rng(0).permutation(len(mentions))[: BATCH * args.steps * (args.turns + 1)]
    batches = [[mentions[place] for place in order[start : start + BATCH]] for start in range(0, len(order), BATCH)]
    plain, ours = Plain(generators[0]), Ours(generators[1])
    turns = [batches[start : start + args.steps] for start in range(0, len(batches), args.steps)]
    for one in (plain, ours):  # objects that are made at the first use
        speed(one, turns[0][:1])
    speeds = [(speed(plain, turn), speed(ours, turn)) for turn in turns[1:]]
    result = {
        "plain_mentions_per_s": [round(of_plain, 1) for of_plain, _ in speeds],
        "ours_mentions_per_s": [round(of_ours, 1) for _, of_ours in speeds],
        "ratio": round(median(of_ours / of_plain for of_plain, of_ours in speeds), 2),
        "threads": torch.get_num_threads(),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
