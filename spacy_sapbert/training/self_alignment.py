"""Self-alignment of an encoder (SapBERT, Liu et al. 2021): synonyms together, other names apart.

Needs torch, transformers, numpy and pytorch-metric-learning only, so that it also runs on a bare GPU machine.
"""

# no postponed annotations here: the settings of a registered class could not be checked

import copy
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..encoders.transformer import TransformerEncoder, has_bfloat16
from ..errors import Errors, SapbertError
from ..text.hashing import hash64
from ..text.normalize import TEXT_NORMALIZERS
from .batching import Batcher
from .checkpoints import Position, has_checkpoint, load_checkpoint, save_checkpoint
from .checks import check_counts
from .distillation import Teacher
from .logs import MakeLog, RunLog
from .losses import Loss
from .mining import Mined, Miner
from .optimizing import MakeOptimizer, Schedule
from .pair_table import Batch, PairTable
from .processes import Processes
from .timing import Clock, IdleSteps

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BEST_FOLDER = "model-best"
LAST_FOLDER = "model-last"
FAILED_FILE = "failed_batch.json"
# settings that name files, which are others on another machine; and parts of a config that decide what is learnt
_FILES = ("name", "path", "shared", "encoder", "kb", "corpus")
_PARTS = ("batcher", "miner", "loss", "teacher", "optimizer", "schedule")
PRECISIONS = ("auto", "fp32", "bf16", "fp16")

# an encoder in, measures by name out
Evaluation = Callable[[TransformerEncoder], Mapping[str, float]]


class SelfAlignment:
    """Trains an encoder on pairs of synonyms.

    Args:
        encoder: the model to begin with; it is trained in place.
        pairs: what it learns from.
        batcher: which pairs are trained on together, e.g. "spacy-sapbert.ShuffledBatches.v1".
        miner: which names of a batch are compared, e.g. "spacy-sapbert.HardTriplets.v1".
        loss: over what the miner gives, e.g. "spacy-sapbert.MultiSimilarity.v1".
        optimizer: changes the weights, e.g. "spacy-sapbert.AdamW.v1".
        schedule: how the learning rate goes up and down, e.g. "spacy-sapbert.WarmupLinear.v1".
        logger: where the run is told of, e.g. "spacy-sapbert.ProgressBar.v1".
        evaluation: measures the encoder on development data every `evaluate_every` steps and in the end.
        measure: of these measures, the one by which the best encoder is kept.
        teacher: another encoder, whose vectors this one is drawn to as well.
        seed: decides the order of the pairs, and what dropout leaves out.
        max_epochs: the run ends with the first that is reached.
        max_steps: the run ends with the first that is reached.
        accumulate: batches a step; each is mined by itself.
        precision: "fp32", "bf16", "fp16", or "auto" for bf16 where the hardware has it.
        adapter: train a bottleneck adapter so many times narrower than the encoder, and freeze the rest: 16 for 1.09 %
            of the weights of a BERT-base, 1 for 13.22 %.
        projection: put a linear layer behind the pooling, with this activation: "tanh", "relu" or "none".
        projection_dim: the length of its vectors; None keeps that of the encoder's.
        projection_alone: train it alone, and freeze the rest.
        dropout: as much as the model's config says, or none.
        max_grad_norm: gradients are scaled down to this norm.
        checkpoint_every: steps from one checkpoint to the next.
        evaluate_every: steps from one evaluation to the next.

    Raises:
        SapbertError: E335 a setting that makes no sense, E345 the encoder's vectors are not l2_normalized, E348 it has
            a projection already.
    """

    def __init__(
        self,
        encoder: TransformerEncoder,
        pairs: PairTable,
        batcher: Batcher,
        miner: Miner,
        loss: Loss,
        optimizer: MakeOptimizer,
        schedule: Schedule,
        logger: MakeLog,
        evaluation: Evaluation | None = None,
        teacher: Teacher | None = None,
        *,
        measure: str = "acc@1",
        seed: int = 0,
        max_epochs: int = 1,
        max_steps: int | None = None,
        accumulate: int = 1,
        precision: str = "auto",
        adapter: float | None = None,
        projection: str | None = None,
        projection_dim: int | None = None,
        projection_alone: bool = False,
        dropout: bool = True,
        max_grad_norm: float | None = None,
        checkpoint_every: int = 500,
        evaluate_every: int = 500,
    ) -> None:
        self.encoder = encoder
        self.pairs = pairs
        self.batcher = batcher
        self.miner = miner
        self.loss = loss
        self.schedule = schedule
        self.logger = logger
        self.evaluation = evaluation
        self.teacher = teacher
        self.measure = measure
        self.seed = seed
        self.accumulate = accumulate
        self.additions: dict[str, Any] = {
            "adapter": adapter,
            "projection": projection,
            "projection_dim": projection_dim,
            "projection_alone": projection_alone,
        }
        self.dropout = dropout
        self.max_grad_norm = max_grad_norm
        self.checkpoint_every = checkpoint_every
        self.evaluate_every = evaluate_every
        check_counts(max_epochs=max_epochs, max_steps=max_steps, accumulate=accumulate)
        check_counts(checkpoint_every=checkpoint_every, evaluate_every=evaluate_every, projection_dim=projection_dim)
        if max_grad_norm is not None and max_grad_norm <= 0:  # gradients would be turned round
            raise SapbertError(Errors.E335.format(name="max_grad_norm", value=max_grad_norm, wanted="above 0"))
        if not encoder.l2_normalized:  # losses and miner are of cosines: what was learnt would not be what is used
            raise SapbertError(Errors.E345.format(name=encoder.name))
        self.processes = Processes(encoder.device)  # first, since it chooses the GPU
        self.precision = _precision(precision, encoder.device)
        self._base = encoder.fingerprint  # before its weights change
        _add(encoder, seed, **self.additions)
        self.optimizer = optimizer(encoder.model)
        self._epoch: tuple[int, list[np.ndarray]] = (-1, [])
        self._n_batches = len(self._batches_of(0))
        self._steps_an_epoch = math.ceil(self._n_batches / accumulate)
        self.total_steps = min(self._steps_an_epoch * max_epochs, max_steps or self._steps_an_epoch * max_epochs)

    # --- the run

    def train(
        self,
        output: Path,
        *,
        resume: bool = False,
        max_minutes: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Train, and write `model-last`, with an evaluation also `model-best`, into a folder.

        Args:
            resume: go on from the checkpoint in the folder; without one, begin.
            max_minutes: stop after this time, with a checkpoint to go on from.
            settings: of the run, as its config has them; noted in the encoder's folder but for what names files. A
                checkpoint that was made with other settings of what is learnt is refused.

        Returns:
            `steps` done and `of` how many, `minutes`, `best`, whether it is `finished`, and how many `processes` did
                it.

        Raises:
            SapbertError: E336 the folder holds another run and `resume` is False, E337 the loss is no number, E331 to
                E334 of checkpoints.
        """
        self._settings = _without_files(settings or {})
        position = self._begin(output, resume)
        clock = Clock(position.minutes, max_minutes)
        log = self.logger(output, position.step, self.total_steps) if self.processes.is_first else None
        idle = IdleSteps()
        is_over = False
        try:
            if not position.step:  # what it begins with; and a measure that is not there is missed at once
                position = position._replace(best=self._evaluate(position, output, log))
            while position.step < self.total_steps and not is_over:
                values = self._step(position.step, output)
                scaler = self._scaler.state_dict()
                position = position._replace(step=position.step + 1, minutes=clock.minutes, scaler=scaler)
                idle.add(values)
                if log:
                    log.step(clock.tell(position.step, self.total_steps, values))
                if self._is_due(self.evaluate_every, position.step):
                    position = position._replace(best=self._evaluate(position, output, log))
                is_over = self.processes.agree(clock.is_over)
                if self._is_due(self.checkpoint_every, position.step) or is_over:
                    self._checkpoint(output, position)
                    if log:
                        idle.warn()
        finally:
            self._end_training_mode()
            if log:
                log.close()
        if self.processes.is_first:
            self._save(output / LAST_FOLDER, position.step)
        return {
            "steps": position.step,
            "of": self.total_steps,
            "minutes": round(position.minutes, 2),
            "best": position.best,
            "finished": position.step == self.total_steps,
            "processes": self.processes.size,
        }

    def _begin(self, output: Path, resume: bool) -> Position:
        run = self._described
        found = has_checkpoint(output)
        if found and not resume:
            raise SapbertError(Errors.E336.format(path=output))
        position = load_checkpoint(output, run, self.encoder.model, self.optimizer) if found else Position()
        if position.scaler:
            self._scaler.load_state_dict(position.scaler)
        if self.processes.is_first:
            output.mkdir(parents=True, exist_ok=True)
        self.encoder.model.train(self.dropout)
        return position

    def _step(self, step: int, output: Path) -> dict[str, Any]:
        """Learn from the batches of one step. RETURNS (dict[str, Any]): what the log is told of it."""
        import torch

        started = time.monotonic()
        epoch, first = divmod(step, self._steps_an_epoch)
        chosen = self._batches_of(epoch)[first * self.accumulate : (first + 1) * self.accumulate]
        rate = self._set_rate(self.schedule(step, self.total_steps))
        # a run that goes on draws the same dropout, since it depends on the step alone
        torch.manual_seed(hash64(f"{self.seed} {step} {self.processes.rank}") >> 1)
        totals: dict[str, float] = dict.fromkeys(("loss", "pairs", "mined_pairs", "mined_triplets", "nothing_hard"), 0)
        for batch in map(self.pairs.batch, chosen):
            loss, mined = self._loss(batch)
            if not torch.isfinite(loss):
                self._fail(output, step, [batch], "loss", loss.item())
            if loss.requires_grad:
                self._scaler.scale(loss / len(chosen)).backward()
            totals["loss"] += loss.item() / len(chosen)
            totals["pairs"] += len(batch.pairs)
            totals["mined_pairs"] += int(mined.positives.sum() + mined.negatives.sum())
            totals["mined_triplets"] += len(mined.triplets)
            totals["nothing_hard"] += not len(mined.triplets)
        if totals["nothing_hard"] < len(chosen) or self.teacher:
            norm = self._update()
            if not math.isfinite(norm) and self.precision != "fp16":  # in float16 the scale goes down, and all goes on
                self._fail(output, step, map(self.pairs.batch, chosen), "norm of the gradients", norm)
        speed = totals["pairs"] / (time.monotonic() - started)
        return {**totals, "learn_rate": rate, "epoch": epoch, "pairs_per_s": speed}

    def _loss(self, batch: Batch) -> "tuple[Tensor, Mined]":
        normalize = TEXT_NORMALIZERS[self.encoder.text_normalizer]
        forms = [normalize(name) for name in batch.names]
        vectors = self._encode(forms)
        mined = self.miner(vectors, batch._replace(synonyms=batch.synonyms | _alike(forms)))
        loss = vectors.new_zeros(())
        if len(mined.triplets):
            loss = loss + self.loss(vectors, mined)
        if self.teacher:
            loss = loss + self.teacher(batch.names, vectors)
        return loss, mined

    def _encode(self, forms: list[str]) -> "Tensor":
        """Encode the names of a batch in parts of about equal length, each padded to its own longest.

        Returns:
            float32, shape (len(forms), dim): unit vectors, with gradients.
        """
        pieces = self.encoder.tokenize(forms)
        order = sorted(range(len(pieces)), key=lambda place: -len(pieces[place]))
        vectors = self._embed([pieces[place] for place in self.processes.share(order)])
        return self.processes.gather(vectors, order)

    def _embed(self, pieces: list[list[int]]) -> "Tensor":
        import torch

        half = torch.float16 if self.precision == "fp16" else torch.bfloat16
        with torch.autocast(self.encoder.device.split(":")[0], dtype=half, enabled=self.precision != "fp32"):
            return self.encoder.embed_by_length(pieces).float()

    def _set_rate(self, factor: float) -> float:
        """Return the learning rate of the first group of weights."""
        for group in self.optimizer.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * factor
        return float(self.optimizer.param_groups[0]["lr"])

    def _update(self) -> float:
        """Learn from the gradients. RETURNS (float): their norm; if it is no number, the weights stay."""
        import torch

        module = self.encoder.model
        self.processes.sum_gradients(module)
        self._scaler.unscale_(self.optimizer)
        most = math.inf if self.max_grad_norm is None else self.max_grad_norm
        norm = float(torch.nn.utils.clip_grad_norm_(module.parameters(), most))
        if math.isfinite(norm) or self.precision == "fp16":
            self._scaler.step(self.optimizer)
            self._scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return norm

    # --- beside the steps

    def _evaluate(self, position: Position, output: Path, log: RunLog | None) -> float | None:
        """Measure, and keep the encoder if it is the best so far. RETURNS (float | None): the best value so far."""
        if not (self.evaluation and log):
            return position.best
        self._end_training_mode()
        measures = self.evaluation(self.encoder)
        self.encoder.model.train(self.dropout)
        if self.measure not in measures:
            raise SapbertError(Errors.E338.format(measure=self.measure, measures=", ".join(measures)))
        log.evaluated({"step": position.step, **measures})
        value = measures[self.measure]
        if position.best is not None and value <= position.best:
            return position.best
        self._save(output / BEST_FOLDER, position.step)
        return value

    def _checkpoint(self, output: Path, position: Position) -> None:
        if self.processes.is_first:
            save_checkpoint(output, self._described, position, self.encoder.model, self.optimizer)

    def _save(self, folder: Path, step: int) -> None:
        """Write the encoder, with a note of this run after those of what was done to it before."""
        before = copy.deepcopy(self.encoder.trained)
        self.encoder.record("self-alignment", steps=step, pairs=len(self.pairs), settings=self._settings)
        self.encoder.save(folder)
        self.encoder.trained = before

    def _fail(self, output: Path, step: int, batches: Iterable[Batch], what: str, value: float) -> NoReturn:
        """Raise SapbertError: E337."""
        path = output / FAILED_FILE
        names = [[batch.names[left], batch.names[right]] for batch in batches for left, right in batch.pairs]
        if self.processes.is_first:
            told = {"step": step + 1, what: str(value), "pairs": names}
            path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        raise SapbertError(Errors.E337.format(what=what, value=value, step=step + 1, path=path))

    def _is_due(self, every: int, step: int) -> bool:
        return step % every == 0 or step == self.total_steps

    # --- what a run is made of

    def _batches_of(self, epoch: int) -> list[np.ndarray]:
        if self._epoch[0] != epoch:
            self._epoch = (epoch, self.batcher(self.pairs, np.random.default_rng([self.seed, epoch])))
        return self._epoch[1]

    @cached_property
    def _described(self) -> dict[str, Any]:
        """What must be the same for a run to go on from its checkpoint."""
        return {
            "encoder": self._base[:16],
            **self.additions,
            "pairs": self.pairs.fingerprint[:16],
            "seed": self.seed,
            "steps": self.total_steps,
            "batches": self._n_batches,
            "accumulate": self.accumulate,
            **{part: self._settings.get(part) for part in _PARTS},
        }

    @cached_property
    def _scaler(self) -> "torch.amp.GradScaler":
        import torch

        return torch.amp.GradScaler(self.encoder.device.split(":")[0], enabled=self.precision == "fp16")

    def _end_training_mode(self) -> None:
        self.encoder.replace(self.encoder.model)  # which has no dropout then, and another fingerprint


def _alike(forms: list[str]) -> np.ndarray:
    """Return `bool, shape (n, n)`: whether two different places hold one form, which no training could tell apart."""
    places = np.unique(forms, return_inverse=True)[1]
    alike: np.ndarray = places[:, None] == places
    np.fill_diagonal(alike, False)
    return alike


def _add(
    encoder: TransformerEncoder,
    seed: int,
    adapter: float | None,
    projection: str | None,
    projection_dim: int | None,
    projection_alone: bool,
) -> None:
    """Put an adapter into an encoder, or a projection behind it; weights are frozen that are not to be trained.

    Raises:
        SapbertError: E335 the settings do not fit each other, E348 there is a projection already.
    """
    import torch

    from ..encoders.adapter import add_adapter
    from ..encoders.projection import add_projection

    if projection_alone and (projection is None or adapter is not None):
        wanted = "false but for a projection without an adapter"
        raise SapbertError(Errors.E335.format(name="projection_alone", value=projection_alone, wanted=wanted))
    torch.manual_seed(seed)  # first weights are drawn
    if adapter is not None:
        add_adapter(encoder, adapter)
    if projection is not None:
        if projection_alone:
            encoder.model.requires_grad_(False)
        add_projection(encoder, projection, projection_dim)


def _precision(precision: str, device: str) -> str:
    """Raise SapbertError: E335 there is no such precision, or float16 on a CPU."""
    if precision not in PRECISIONS or (precision == "fp16" and device == "cpu"):
        raise SapbertError(Errors.E335.format(name="precision", value=precision, wanted=", ".join(PRECISIONS)))
    return ("bf16" if has_bfloat16(device) else "fp32") if precision == "auto" else precision


def _without_files(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that mean something elsewhere, too."""
    return {
        name: _without_files(value) if isinstance(value, Mapping) else value
        for name, value in settings.items()
        if not (name in _FILES and isinstance(value, str) and value != "auto")
    }
