"""Log the candidates of chosen mentions during training, as in Table 4 and Figure 2 of Sung et al. (2020)."""

# no postponed annotations here: spaCy could not check the settings of the registered function

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from spacy.language import Language
from spacy.util import registry

from ..errors import EmptyError, SettingError
from ..files.opening import open_text
from ..files.output import append_line, open_output
from ..files.values import parse_json
from ..settings_block import check_counts
from .running import find_linker

SCORES = ("link_acc", "link_strict", "link_recall", "link_lambda")

LogStep = Callable[[dict[str, Any] | None], None]
Finalize = Callable[[], None]


def candidate_log(
    path: str | None = None, mentions: Sequence[str] = (), k: int = 5, other_logger: Callable | None = None
) -> Callable[..., tuple[LogStep, Finalize]]:
    """Create a logger for `spacy train` that writes a line of JSON at each evaluation, in addition to another logger.

    A line has `step`, `epoch`, the linker's scores (see `score_links`) and `candidates`: for each chosen mention the
    first k, best first, each with `id`, `name` and `score`.

    Args:
        path: The file to write. A new run replaces it. None writes no file.
        mentions: The chosen mentions, as the linker looks them up: with abbreviations expanded.
        k: The number of candidates per mention.
        other_logger: The other logger. None is spaCy's console logger.
    """
    check_counts("CandidateLog", k=k)
    if mentions and path is None:
        wanted = "a file, since there are mentions"
        raise SettingError(setting="path", component="CandidateLog", value=None, wanted=wanted)
    other = other_logger or registry.loggers.get("spacy.ConsoleLogger.v3")()

    def setup(nlp: Language, stdout: IO = sys.stdout, stderr: IO = sys.stderr) -> tuple[LogStep, Finalize]:
        log_other, finalize = other(nlp, stdout, stderr)
        if path is None:
            return log_other, finalize
        linker = find_linker(nlp).linker
        with open_output(Path(path)):
            pass  # a file that cannot be written stops the run before training

        def log_step(info: dict[str, Any] | None) -> None:
            log_other(info)
            if info is None:  # there was no evaluation at this step
                return
            append_line(Path(path), json.dumps(_line(info, linker, mentions, k), ensure_ascii=False))

        return log_step, finalize

    return setup


def _line(info: Mapping[str, Any], linker: Any, mentions: Sequence[str], k: int) -> dict[str, Any]:
    scores = {name: info["other_scores"].get(name) for name in SCORES}
    candidates = {
        mention: [{"id": id, "name": name, "score": score} for id, score, name, *_ in candidates]
        for mention, candidates in zip(mentions, linker.generator(mentions, k), strict=True)
    }
    return {"step": info["step"], "epoch": info["epoch"], **scores, "candidates": candidates}


# --- read a log


def read_candidate_log(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log, without a last line that was cut off."""
    with open_text(path) as handle:
        texts = [text for text in handle if text.endswith("\n")]
    try:
        lines = list(map(parse_json, texts))
        is_log = bool(lines) and all(line.keys() >= {"step", "epoch", "candidates", *SCORES} for line in lines)
    except (ValueError, AttributeError):  # not JSON, or not an object
        is_log = False
    if not is_log:
        remedy = "`spacy-sapbert init config linker` puts the logger into a config that writes such a log."
        raise EmptyError(remedy, what=f"evaluation in {path}", consequence="there is nothing to show")
    return lines


def by_epoch(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the first evaluation and the last one of each epoch; epochs count from 0."""
    last = {line["epoch"]: line for line in lines}.values()
    return [*(line for line in lines[:1] if line not in last), *last]


def best(lines: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the evaluation with the highest accuracy; of several, the first."""
    return max(lines, key=lambda line: -1 if line["link_acc"] is None else line["link_acc"])
