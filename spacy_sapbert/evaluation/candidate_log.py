"""What a linker finds for chosen mentions while it learns: the kind of Table 4 and Figure 2 of Sung et al. 2020."""

# no postponed annotations here: the settings of a registered function could not be checked

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from spacy.language import Language
from spacy.util import registry

from ..errors import Errors, SapbertError
from ..files import open_output, open_text, parse_json
from ..training.checks import check_counts
from .linking import find_linker

CONSOLE = "spacy.ConsoleLogger.v3"
SCORES = ("link_acc", "link_strict", "link_recall", "link_lambda")

LogStep = Callable[[dict[str, Any] | None], None]
Finalize = Callable[[], None]


def candidate_log(
    path: str | None = None, mentions: Sequence[str] = (), k: int = 5, beside: Callable | None = None
) -> Callable[..., tuple[LogStep, Finalize]]:
    """A logger for `spacy train` that writes a line of JSON at each evaluation, beside another logger.

    A line has `step`, `epoch`, the linker's scores (see `score_links`) and `candidates`: for each chosen mention the
    first k, best first, each with `id`, `name` and `score`.

    Args:
        path: the file, which a new run replaces; None for no file.
        mentions: the chosen mentions, as they are looked up: with abbreviations expanded.
        k: candidates of a mention.
        beside: the logger that it stands beside; None for spaCy's console logger.

    Raises:
        SapbertError: E335 a setting that makes no sense. In training: E507 the file cannot be written, E510 the
            pipeline has no linker.
    """
    check_counts(k=k)
    if mentions and path is None:
        raise SapbertError(Errors.E335.format(name="path", value=None, wanted="a file, since there are mentions"))
    other = beside or registry.loggers.get(CONSOLE)()

    def setup(nlp: Language, stdout: IO = sys.stdout, stderr: IO = sys.stderr) -> tuple[LogStep, Finalize]:
        log_beside, finalize = other(nlp, stdout, stderr)
        if path is None:
            return log_beside, finalize
        linker = find_linker(nlp).linker
        with open_output(Path(path)):
            pass  # a place that cannot be written to is told before training

        def log_step(info: dict[str, Any] | None) -> None:
            log_beside(info)
            if info is not None:  # else there was no evaluation
                _append(Path(path), {**_scores(info), "candidates": _candidates(linker, mentions, k)})

        return log_step, finalize

    return setup


def _scores(info: Mapping[str, Any]) -> dict[str, Any]:
    scores = {name: info["other_scores"].get(name) for name in SCORES}
    return {"step": info["step"], "epoch": info["epoch"], **scores}


def _candidates(linker: Any, mentions: Sequence[str], k: int) -> dict[str, list[dict[str, Any]]]:
    return {
        mention: [{"id": found.concept_id, "name": found.name, "score": found.score} for found in candidates]
        for mention, candidates in zip(mentions, linker.generator(mentions, k), strict=True)
    }


def _append(path: Path, line: Mapping[str, Any]) -> None:
    """The file is closed after every line, so that a run that is killed leaves all that it told."""
    try:
        with path.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=path, reason=error.strerror)) from error


# --- reading


def read_candidate_log(path: Path) -> list[dict[str, Any]]:
    """Return a log's lines; a last one that was cut off is left out.

    Raises:
        SapbertError: E522 it is no log, E120 to E122 the file cannot be read.
    """
    lines = list(_read(path))
    if not lines:
        raise SapbertError(Errors.E522.format(path=path, line=1, reason="there is no evaluation in it"))
    return lines


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with open_text(path) as handle:
        for number, text in enumerate(handle, start=1):
            try:
                line = parse_json(text)
                reason = _fault(line)
            except ValueError as error:
                if not text.endswith("\n"):  # training was stopped just then
                    return
                reason = str(error)
            if reason:
                raise SapbertError(Errors.E522.format(path=path, line=number, reason=reason))
            yield line


def _fault(line: Any) -> str | None:
    if not isinstance(line, dict):
        return "no JSON object"
    for key, kind in {"step": int, "epoch": int, "candidates": dict}.items():
        if not isinstance(line.get(key), kind):
            return f"no {key}"
    if not all(isinstance(line.get(name, ""), float | int | None) for name in SCORES):
        return f"not all of {', '.join(SCORES)}"
    return None if all(map(_are_candidates, line["candidates"].values())) else "no candidates"


def _are_candidates(found: Any) -> bool:
    return isinstance(found, list) and all(
        isinstance(one, dict) and {"id", "name"} <= set(one) and isinstance(one.get("score"), float | int)
        for one in found
    )


def by_epoch(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return `list`: the first evaluation, when little was learnt, and the last of each epoch; epochs count from 0."""
    last = {line["epoch"]: line for line in lines}.values()
    return [*(line for line in lines[:1] if line not in last), *last]


def best(lines: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return `Mapping`: the evaluation with the highest accuracy, of several the first."""
    return max(lines, key=lambda line: -1 if line["link_acc"] is None else line["link_acc"])
