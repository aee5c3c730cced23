"""Self-alignment of an encoder (SapBERT, Liu et al. 2021): bring synonyms together and keep other names apart.

It only needs torch, transformers, accelerate, NumPy and pytorch-metric-learning, so that it also runs on a bare GPU
machine.
"""

# no postponed annotations here: spaCy could not check the settings of a registered class

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoders.encoder import Encoder, as_transformer, history_kept
from ..encoders.static import StaticEncoder
from ..encoders.transformer import TransformerEncoder, has_bfloat16
from ..errors import ChoiceError, Errors, SapbertError
from ..files.values import hash64
from ..settings_block import check_counts, check_rules
from ..text.normalize import TEXT_NORMALIZERS
from .losses import Loss, Teacher
from .mining import Mined, Miner
from .optimizing import MakeOptimizer, Processes, Schedule, clip_gradients
from .pair_table import Batch, Batcher, PairTable
from .run_files import Clock, MakeLog, Position, RunLog, has_checkpoint, load_checkpoint, save_checkpoint

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# settings with file names, which differ between machines, and parts of a config that affect the training
_FILES = ("name", "path", "shared", "encoder", "kb", "corpus")
_ADDITIONS = ("adapter", "projection", "projection_dim", "projection_alone")
_PARTS = ("batcher", "miner", "loss", "teacher", "optimizer", "schedule")
PRECISIONS = ("auto", "fp32", "bf16", "fp16")

# from an encoder to measures by name
Evaluation = Callable[[Encoder], Mapping[str, float]]


@dataclass(eq=False, repr=False)
class SelfAlignment:
    """Trains an encoder on pairs of synonyms.

    Attributes:
        encoder: The initial model. It is trained in place.
        pairs: The training pairs.
        batcher: Groups pairs into batches, such as "spacy-sapbert.ShuffledBatches.v1".
        miner: Chooses the names of a batch to compare, such as "spacy-sapbert.HardTriplets.v1".
        loss: The loss over the mined pairs, such as "spacy-sapbert.MultiSimilarity.v1".
        optimizer: Updates the weights, such as "spacy-sapbert.AdamW.v1".
        schedule: Sets the learning rate of each step, such as "spacy-sapbert.WarmupLinear.v1".
        logger: Logs the run, such as "spacy-sapbert.ProgressBar.v1".
        evaluation: Measures the encoder on development data every `evaluate_every` steps and at the end.
        teacher: Another encoder. The trained vectors are also drawn to its vectors.
        measure: The measure of `evaluation` that selects the best encoder.
        seed: The seed for the order of the pairs, dropout, and new weights.
        max_epochs: The most epochs. The run ends at this or `max_steps`, whichever is first.
        max_steps: The most steps.
        accumulate: Batches per step. Each is mined separately.
        precision: "fp32", "bf16", "fp16", or "auto" for bf16 if the hardware supports it.
        adapter: Train a bottleneck adapter this many times narrower than the encoder, and freeze the rest: 16 gives
            1.09 % of the weights of a BERT-base, 1 gives 13.22 %.
        projection: Add a linear layer after the pooling, with this activation: "tanh", "relu" or "none".
        projection_dim: The dimension of its vectors; None keeps that of the encoder.
        projection_alone: Train only the projection, and freeze the rest.
        dropout: Whether to use the dropout of the model's config.
        max_grad_norm: Gradients are scaled down to this norm.
        checkpoint_every: Steps between checkpoints.
        evaluate_every: Steps between evaluations.
        total_steps (int): The number of all steps of the run.
        processes (Processes): This process, and the others that train with it.
    """

    encoder: TransformerEncoder | StaticEncoder
    pairs: PairTable
    batcher: Batcher
    miner: Miner
    loss: Loss
    optimizer: MakeOptimizer
    schedule: Schedule
    logger: MakeLog
    evaluation: Evaluation | None = None
    teacher: Teacher | None = None
    _: KW_ONLY
    measure: str = "acc@1"
    seed: int = 0
    max_epochs: int = 1
    max_steps: int | None = None
    accumulate: int = 1
    precision: str = "auto"
    adapter: float | None = None
    projection: str | None = None
    projection_dim: int | None = None
    projection_alone: bool = False
    dropout: bool = True
    max_grad_norm: float | None = None
    checkpoint_every: int = 500
    evaluate_every: int = 500

    def __post_init__(self) -> None:
        encoder = self.encoder
        names = ("max_epochs", "max_steps", "accumulate", "checkpoint_every", "evaluate_every", "projection_dim")
        check_counts("SelfAlignment", **{name: getattr(self, name) for name in names})
        is_possible = self.precision in PRECISIONS and (self.precision != "fp16" or encoder.device != "cpu")
        has_projection_alone = self.projection is not None and self.adapter is None
        check_rules(
            self,
            # a negative norm would reverse the gradients
            ("max_grad_norm", self.max_grad_norm is None or self.max_grad_norm > 0, "above 0"),
            ("precision", is_possible, f"one of {', '.join(PRECISIONS)}, and on a CPU not fp16"),
            (
                "projection_alone",
                has_projection_alone or not self.projection_alone,
                "false unless there is a projection and no adapter",
            ),
        )
        if not encoder.l2_normalized:  # losses and miner use cosines, but the encoder would be used with inner products
            raise SapbertError(Errors.E345.format(name=encoder.name))
        self.processes = Processes(encoder.device)  # first, since it chooses the GPU
        if self.precision == "auto":
            self.precision = "bf16" if has_bfloat16(encoder.device) else "fp32"
        self._base = encoder.fingerprint  # before its weights change
        self._add_layers()
        self._optimizer = self.optimizer(encoder.model)
        self._epoch: tuple[int, list[np.ndarray]] = (-1, [])
        self._n_batches = len(self._batches_of(0))
        self._steps_an_epoch = math.ceil(self._n_batches / self.accumulate)
        steps = self._steps_an_epoch * self.max_epochs
        self.total_steps = min(steps, self.max_steps or steps)

    def _add_layers(self) -> None:
        """Add an adapter or a projection to the encoder, and freeze the weights that are not trained."""
        import torch

        from ..encoders.additions import add_adapter, add_projection

        torch.manual_seed(self.seed)  # the initial weights are random
        if self.adapter is not None:
            add_adapter(as_transformer(self.encoder, "An adapter"), self.adapter)
        if self.projection is not None:
            if self.projection_alone:
                self.encoder.model.requires_grad_(False)
            add_projection(as_transformer(self.encoder, "A projection"), self.projection, self.projection_dim)

    # --- the run

    def train(
        self,
        output: Path,
        *,
        resume: bool = False,
        max_minutes: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Train, and write `model-last` into a folder, and with an evaluation also `model-best`.

        Args:
            resume: Resume from the checkpoint in the folder. Without a checkpoint, start from the beginning.
            max_minutes: Stop after this time, with a checkpoint to resume from.
            settings: The config of the run. It is recorded in the encoder's folder, without file names. A checkpoint is
                refused if settings that affect the training differ.

        Returns:
            `steps` done, `of` the number of all steps, `minutes`, `best`, whether it is `finished`, and the number of
            `processes`.

        Raises:
            SapbertError: E336 the folder has another run and `resume` is not set, E337 the loss is not a number, or the
                checkpoint cannot be written, is damaged, or is that of another run.
        """
        self._settings = _without_files(settings or {})
        position = self._begin(output, resume)
        clock = Clock(position.minutes, max_minutes)
        log = self.logger(output, position.step, self.total_steps) if self.processes.is_first else None
        is_over = False
        try:
            if not position.step:  # gives the initial value, and reports a missing measure at once
                position = position._replace(best=self._evaluate(position, output, log))
            while position.step < self.total_steps and not is_over:
                values = self._step(position.step)
                scaler = self._scaler.state_dict()
                position = position._replace(step=position.step + 1, minutes=clock.minutes, scaler=scaler)
                if log:
                    log.add(clock.timed_values(position.step, self.total_steps, values))
                if self._is_due(self.evaluate_every, position.step):
                    position = position._replace(best=self._evaluate(position, output, log))
                is_over = self.processes.agree(clock.is_over)
                if log and (is_over or self._is_due(self.checkpoint_every, position.step)):
                    save_checkpoint(output, self._run_description, position, self.encoder.model, self._optimizer)
        finally:
            self._end_training_mode()
            if log:
                log.close()
        if self.processes.is_first:
            self._save(output / "model-last", position.step)
        return {
            "steps": position.step,
            "of": self.total_steps,
            "minutes": round(position.minutes, 2),
            "best": position.best,
            "finished": position.step == self.total_steps,
            "processes": self.processes.size,
        }

    def _begin(self, output: Path, resume: bool) -> Position:
        run = self._run_description
        is_begun = has_checkpoint(output)
        if is_begun and not resume:
            raise SapbertError(Errors.E336.format(path=output))
        position = load_checkpoint(output, run, self.encoder.model, self._optimizer) if is_begun else Position()
        if position.scaler:
            self._scaler.load_state_dict(position.scaler)
        if self.processes.is_first:
            output.mkdir(parents=True, exist_ok=True)
        self.encoder.model.train(self.dropout)
        return position

    def _step(self, step: int) -> dict[str, Any]:
        """Train on the batches of one step, and return the values for the log."""
        import torch

        started = time.monotonic()
        epoch, first = divmod(step, self._steps_an_epoch)
        chosen = self._batches_of(epoch)[first * self.accumulate : (first + 1) * self.accumulate]
        rate = self._set_rate(self.schedule(step, self.total_steps))
        # dropout only depends on the step, so that a resumed run draws the same
        torch.manual_seed(hash64(f"{self.seed} {step} {self.processes.rank}") >> 1)
        totals: dict[str, float] = dict.fromkeys(("loss", "pairs", "mined_pairs", "mined_triplets", "nothing_hard"), 0)
        for batch in map(self.pairs.batch, chosen):
            loss, mined = self._loss(batch)
            if not torch.isfinite(loss):
                raise _failure("loss", loss.item(), step)
            if loss.requires_grad:
                self._scaler.scale(loss / len(chosen)).backward()
            totals["loss"] += loss.item() / len(chosen)
            totals["pairs"] += len(batch.pairs)
            totals["mined_pairs"] += int(mined.positives.sum() + mined.negatives.sum())
            totals["mined_triplets"] += mined.n_triplets
            totals["nothing_hard"] += not mined.n_triplets
        if totals["nothing_hard"] < len(chosen) or self.teacher:
            norm = self._update()
            # in float16, the scaler lowers the scale and continues
            if not math.isfinite(norm) and self.precision != "fp16":
                raise _failure("norm of the gradients", norm, step)
        speed = totals["pairs"] / (time.monotonic() - started)
        return {**totals, "learn_rate": rate, "epoch": epoch, "pairs_per_s": speed}

    def _loss(self, batch: Batch) -> "tuple[Tensor, Mined]":
        normalize = TEXT_NORMALIZERS[self.encoder.text_normalizer]
        forms = [normalize(name) for name in batch.names]
        vectors = self._encode(forms)
        mined = self.miner(vectors, batch._replace(synonyms=batch.synonyms | _same_form(forms)))
        loss = vectors.new_zeros(())
        if mined.n_triplets:
            loss = loss + self.loss(vectors, mined)
        if self.teacher:
            loss = loss + self.teacher(batch.names, vectors)
        return loss, mined

    def _encode(self, forms: list[str]) -> "Tensor":
        """Return the vectors of a batch of names, with gradients, float32, shape (len(forms), dim).

        They are encoded in parts of similar length, each padded to its longest name.
        """
        import torch

        pieces = self.encoder.tokenize(forms)
        order = sorted(range(len(pieces)), key=lambda name: -len(pieces[name]))
        half = torch.float16 if self.precision == "fp16" else torch.bfloat16
        with torch.autocast(self.encoder.device.split(":")[0], dtype=half, enabled=self.precision != "fp32"):
            vectors = self.encoder.embed_by_length([pieces[name] for name in self.processes.share(order)]).float()
        return self.processes.gather(vectors, order)

    def _set_rate(self, factor: float) -> float:
        """Set the learning rate, and return that of the first group of weights."""
        for group in self._optimizer.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * factor
        return float(self._optimizer.param_groups[0]["lr"])

    def _update(self) -> float:
        """Update the weights, and return the norm of the gradients. If it is not finite, the weights do not change."""
        module = self.encoder.model
        self.processes.sum_gradients(module)
        self._scaler.unscale_(self._optimizer)
        most = math.inf if self.max_grad_norm is None else self.max_grad_norm
        norm = clip_gradients([weight.grad for weight in module.parameters() if weight.grad is not None], most)
        if math.isfinite(norm) or self.precision == "fp16":
            self._scaler.step(self._optimizer)
            self._scaler.update()
        self._optimizer.zero_grad(set_to_none=True)
        return norm

    # --- evaluation and checkpoints

    def _evaluate(self, position: Position, output: Path, log: RunLog | None) -> float | None:
        """Measure the encoder, save it if it is the best so far, and return the best value so far."""
        if not (self.evaluation and log):
            return position.best
        self._end_training_mode()
        measures = self.evaluation(self.encoder)
        self.encoder.model.train(self.dropout)
        if self.measure not in measures:
            raise ChoiceError(given=self.measure, what="measure of the evaluation", choices=measures)
        log.add({"step": position.step, **measures})
        value = measures[self.measure]
        if position.best is not None and value <= position.best:
            return position.best
        self._save(output / "model-best", position.step)
        return value

    def _save(self, folder: Path, step: int) -> None:
        """Write the encoder, with this run added to its recorded history."""
        with history_kept(self.encoder):
            self.encoder.record("self-alignment", steps=step, pairs=len(self.pairs), settings=self._settings)
            self.encoder.save(folder)

    def _is_due(self, every: int, step: int) -> bool:
        return step % every == 0 or step == self.total_steps

    # --- what a run is made of

    def _batches_of(self, epoch: int) -> list[np.ndarray]:
        if self._epoch[0] != epoch:
            self._epoch = (epoch, self.batcher(self.pairs, np.random.default_rng([self.seed, epoch])))
        return self._epoch[1]

    @cached_property
    def _run_description(self) -> dict[str, Any]:
        """The values that must be the same for a run to resume from its checkpoint."""
        return {
            "encoder": self._base[:16],
            **{name: getattr(self, name) for name in _ADDITIONS},
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
        self.encoder.replace(self.encoder.model)  # turns dropout off and updates the fingerprint


def _failure(what: str, value: float, step: int) -> SapbertError:
    return SapbertError(Errors.E337.format(what=what, value=value, step=step + 1))


def _same_form(forms: list[str]) -> np.ndarray:
    """Return whether two different positions hold the same form, bool, shape (n, n).

    No training could separate such names.
    """
    numbers = np.unique(forms, return_inverse=True)[1]
    alike: np.ndarray = numbers[:, None] == numbers
    np.fill_diagonal(alike, False)
    return alike


def _without_files(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_files(value) if isinstance(value, Mapping) else value
        for name, value in settings.items()
        if not (name in _FILES and isinstance(value, str) and value != "auto")
    }
