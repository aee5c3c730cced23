"""The commands that scripts/kill.py kills, and the small inputs that they get."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
N_CONCEPTS, N_SMALL = 8000, 2000
SECOND_NAMES = ["disease", "syndrome", "deficiency", "fever", "tumor"]
NOTES, FILES, PADDING = 500, 6, 1 << 20
"""The padding is a field that nobody reads. With it, each file is a partition of its own."""
DECISIONS = 40


class Target(NamedTuple):
    """A command to kill.

    Attributes:
        name: Its name.
        line: The command line, in which {inputs} stands for the folder of the inputs.
        victim: What is killed: "group" for all processes, "driver" for the first one, "worker" for one of the others.
        stays: A pattern of files that may be there or not.
        contents: Patterns of files, and what of each has to be equal, if not all bytes.
        needs: A module without which the target is left out.
        most_per_run: The most kills before a result is compared.
    """

    name: str
    line: str
    victim: str = "group"
    stays: str = r"(?!)"
    contents: tuple[tuple[str, Callable[[Path], bytes]], ...] = ()
    needs: str = "spacy"
    most_per_run: int = 10

    def command(self, inputs: Path) -> list[str]:
        """RETURNS: the name of a module or of one of `PROGRAMS`, and its arguments."""
        return [word.format(inputs=inputs, configs=ROOT / "configs") for word in self.line.split()]

    def may_stay(self, name: str) -> bool:
        """RETURNS: whether a file may be there or not."""
        return bool(re.fullmatch(self.stays, name))

    def content(self, path: Path) -> bytes:
        """RETURNS: what of a file has to be equal."""
        for pattern, read in self.contents:
            if re.search(pattern, path.name):
                return read(path)
        return path.read_bytes()

    def is_installed(self) -> bool:
        """RETURNS: whether the module that the target needs is there."""
        return importlib.util.find_spec(self.needs) is not None


# --- what of a file has to be equal


def without_times(path: Path) -> bytes:
    """RETURNS: JSON or lines of JSON without times and speeds."""
    lines = [path.read_text()] if path.suffix == ".json" else path.read_text().splitlines()
    return json.dumps([json.loads(line, object_hook=_without_times) for line in lines]).encode()


def _without_times(value: dict[str, Any]) -> dict[str, Any]:
    measured = ("minutes", "minutes_left", "pairs_per_s", "seconds")
    return {key: one for key, one in value.items() if key not in measured}


def decisions(path: Path) -> bytes:
    """RETURNS: the decisions of a file of corrections, without their numbers and dates."""
    from spacy_sapbert.review.corrections_file import CorrectionsFile

    made = [one._replace(date="") for one in CorrectionsFile(path).corrections().values()]
    return repr(sorted(made)).encode()


def nothing(path: Path) -> bytes:
    """RETURNS: nothing, for a file that only has to be there."""
    return b""


# --- programs that are no command of the package


def first_use(inputs: str, encoder: str, index: str) -> None:
    """Use a new linker, which makes what it needs in the cache folder."""
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Disease", "pattern": "fever"}])
    nlp.add_pipe("sapbert_linker", config={"kb": f"{inputs}/names.kb", "encoder": encoder, "index": index})
    links = [[link.concept_id for link in ent._.links] for ent in nlp("A fever.").ents]
    Path("links.json").write_text(json.dumps(links))


def review(inputs: str) -> None:
    """Decide all mentions of a review. What the server has acknowledged must be in the file ever after."""
    acknowledged = Path("acknowledged.txt")
    command = f"-m spacy_sapbert review {inputs}/pipeline {inputs}/few.jsonl -c corrections.db --port 0 --no-browser"
    with subprocess.Popen([sys.executable, *command.split(), "--author", "Ann"], stderr=subprocess.PIPE) as server:
        assert server.stderr
        address = next(line.split()[0].decode() for line in server.stderr if line.startswith(b"http://"))
        _check_saved(acknowledged)
        while view := _ask(f"{address}next?window=w")["view"]:
            text = view["text"]
            sent = {
                "action": "no_mention" if len(text) % 5 == 0 else "reject" if len(text) % 5 == 1 else "accept",
                "scope": "occurrence",
            }
            answer = _ask(f"{address}mentions/{view['number']}/decision?window=w", sent)
            with acknowledged.open("a") as file:
                file.write(f"{answer['correction']['number']}\n")
        server.send_signal(signal.SIGINT)
    _check_saved(acknowledged)


def _ask(address: str, sent: object = None) -> dict[str, Any]:
    data = None if sent is None else json.dumps(sent).encode()
    with urlopen(Request(address, data, {"Content-Type": "application/json"})) as answer:
        return json.loads(answer.read())


def _check_saved(acknowledged: Path) -> None:
    from spacy_sapbert.review.corrections_file import CorrectionsFile

    if acknowledged.is_file():
        missing = set(map(int, acknowledged.read_text().split())) - set(CorrectionsFile("corrections.db").corrections())
        if missing:
            raise SystemExit(f"these decisions were acknowledged, but are lost: {sorted(missing)}")


PROGRAMS: dict[str, Callable[..., None]] = {"first-use": first_use, "review": review}

_LOG = (("log.jsonl$|state.json$", without_times),)
_LINK = "spacy_sapbert link {inputs}/pipeline {inputs}/notes.jsonl --output links.tsv --batch-size 8 --resume"
_CORPUS = "spacy_sapbert link {inputs}/pipeline {inputs}/corpus --output links --n-process 2 --engine "
_LINKS = (("_manifest.json$", without_times),)
_PLOTS = (("curve", nothing),)
_TRAIN = (
    "spacy train {configs}/CONFIG --output model --paths.train {inputs}/train.spacy --paths.dev {inputs}/dev.spacy "
    "--paths.kb {inputs}/small.kb --training.max_steps 20 --training.eval_frequency 10 "
)
_ALL = (
    Target(
        "kb-build",
        "spacy_sapbert kb build {inputs}/names.tsv --output names.kb --format table --type Disease --source-name X",
    ),
    Target("link", _LINK),
    Target("link-processes", f"{_LINK} --n-process 2"),
    Target("corpus", f"{_CORPUS} local", contents=_LINKS),
    Target("corpus-worker", f"{_CORPUS} local", "worker", contents=_LINKS, most_per_run=2),
    Target("corpus-driver", f"{_CORPUS} local", "driver", contents=_LINKS),
    Target("assemble", "spacy_sapbert assemble --kb {inputs}/small.kb --encoder {inputs}/encoder --output pipeline"),
    Target("vectors", "first-use {inputs} {inputs}/encoder HNSW"),
    Target("postings", "first-use {inputs} none auto"),
    Target(
        "mine",
        "spacy_sapbert mine {inputs}/pairs.txt --kb {inputs}/small.kb --encoder {inputs}/encoder --output triples.tsv",
    ),
    Target(
        "augment",
        "spacy_sapbert augment --kb {inputs}/small.kb --documents {inputs}/notes.jsonl --train {inputs}/train.spacy "
        "--labels {inputs}/labels.txt --output augmented.spacy",
    ),
    Target(
        "pretrain",
        "spacy_sapbert pretrain {configs}/pretrain.cfg --output model --resume --device cpu --paths.pairs "
        "{inputs}/few_pairs.txt --paths.encoder {inputs}/encoder --pretrain.batcher.size 32 "
        "--pretrain.checkpoint_every 10",
        contents=(*_LOG, *_PLOTS),
    ),
    Target("train-linker", _TRAIN.replace("CONFIG", "linker.cfg") + "--paths.encoder {inputs}/encoder"),
    Target("train-ner", _TRAIN.replace("CONFIG", "ner.cfg")),
    Target("train-retriever", _TRAIN.replace("CONFIG", "concept_retriever.cfg") + "--paths.encoder {inputs}/encoder"),
    Target("review", "review {inputs}", contents=(("corrections.db$", decisions), ("acknowledged", nothing))),
    # what Ray and Java keep of each session is theirs
    Target("corpus-ray", f"{_CORPUS} ray", stays=r"tmp/ray(/.*)?", contents=_LINKS, needs="ray"),
    Target("corpus-spark", f"{_CORPUS} spark", stays=r"tmp/.*", contents=_LINKS, needs="pyspark"),
)
TARGETS = {target.name: target for target in _ALL}


# --- inputs


def make_inputs(folder: Path) -> Path:
    """Make the inputs, unless this version of the script has made them.

    Returns:
        Their folder.
    """
    version = hashlib.blake2b(Path(__file__).read_bytes(), digest_size=4).hexdigest()
    inputs = folder / f"inputs-{version}"
    if (inputs / "done").is_file():
        return inputs
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir(parents=True)
    draw = random.Random(0)
    names = _vocabulary(inputs, draw)
    _documents(inputs, names, draw)
    _encoder(inputs / "encoder", draw)
    for name in ("names", "small"):
        table = "kb build {name}.tsv --output {name}.kb --format table --type Disease --source-name X"
        _command(inputs, table.format(name=name))
    _command(inputs, "assemble --kb small.kb --encoder encoder --output pipeline")
    _command(inputs, "pairs small.kb --output pairs.txt")
    (inputs / "few_pairs.txt").write_text("".join((inputs / "pairs.txt").read_text().splitlines(keepends=True)[:2000]))
    for name in ("train", "dev"):
        _command(inputs, f"convert {name}.pubtator {name}.spacy --split-tokens --annotates Disease")
    (inputs / "done").touch()
    return inputs


def _command(inputs: Path, arguments: str) -> None:
    environment = {**os.environ, "SPACY_SAPBERT_CACHE": str(inputs / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "spacy_sapbert", *arguments.split()]
    done = subprocess.run(command, cwd=inputs, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{arguments}\n{done.stderr}")


def _vocabulary(inputs: Path, draw: random.Random) -> dict[str, list[str]]:
    """Write tables of made-up names. RETURNS: the names of each concept of the smaller one."""
    words = ["".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3)) for _ in range(5000)]

    def name() -> str:
        return f"{draw.choice(words)} {draw.choice(words)} {draw.choice(SECOND_NAMES)}"

    names = {f"X:{number}": [name() for _ in range(3)] for number in range(N_CONCEPTS)}
    rows = [f"{concept}\t{first}\t{'|'.join(others)}\n" for concept, (first, *others) in names.items()]
    for file, n in (("names", N_CONCEPTS), ("small", N_SMALL)):
        (inputs / f"{file}.tsv").write_text("id\tname\tsynonyms\n" + "".join(rows[:n]))
    return dict(list(names.items())[:N_SMALL])


def _documents(inputs: Path, names: dict[str, list[str]], draw: random.Random) -> None:
    """Write notes, a corpus in several files, annotated documents, and concept ids."""
    concepts = list(names)

    def note(number: int) -> tuple[dict[str, str], str]:
        """A document, and the same with its mentions in PubTator's format."""
        text, lines = "", []
        for concept in draw.sample(concepts[:200] if number % 2 else concepts, 4):
            text += "A patient had "
            mention = draw.choice(names[concept])
            lines.append(f"{number}\t{len(text)}\t{len(text) + len(mention)}\t{mention}\tDisease\t{concept}\n")
            text += f"{mention}, and got better. "
        text = text.strip()
        return {"id": str(number), "text": text}, f"{number}|t|{text}\n{number}|a|\n{''.join(lines)}\n"

    notes = [note(number) for number in range(NOTES + 100)]
    lines = [json.dumps(one) + "\n" for one, _ in notes]
    (inputs / "notes.jsonl").write_text("".join(lines[:NOTES]))
    (inputs / "few.jsonl").write_text("".join(lines[: DECISIONS // 4]))
    (inputs / "corpus").mkdir()
    for number in range(FILES):
        some = [{**one, "padding": ""} for one, _ in notes[number * 80 : (number + 1) * 80]]
        some[0]["padding"] = "x" * PADDING
        (inputs / "corpus" / f"{number}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in some))
    (inputs / "train.pubtator").write_text("".join(annotated for _, annotated in notes[NOTES : NOTES + 80]))
    (inputs / "dev.pubtator").write_text("".join(annotated for _, annotated in notes[NOTES + 80 :]))
    (inputs / "labels.txt").write_text("".join(f"{concept}\n" for concept in concepts[:400]))


def _encoder(folder: Path, draw: random.Random) -> None:
    """Write a BERT with two layers, 32 dimensions and random weights."""
    import torch
    import transformers

    folder.mkdir()
    pieces = [mark + letter for mark in ("", "##") for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(draw.randrange(1000))
    config = transformers.BertConfig(
        vocab_size=5 + len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    (folder / "spacy_sapbert.json").write_text('{"pooling": "mean"}')
