"""Draw the pictures of the papers that are on the pages of results.

- names per concept of a knowledge base;
- for an encoder before its training on synonyms and after it: the names of ten concepts in two dimensions (t-SNE), the
  cosines of ten pairs, and those of a hundred pairs. PAIRS is `eval.txt` of `pairs --pairs.selection kg-aligned`;
- accuracy and recall of candidates by epoch, from the log of `spacy train configs/linker.cfg`.

    python benchmarks/pictures.py FOLDER --kb KB --pairs PAIRS --before ENCODER [--after ENCODER] --log FILE
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from common import new_parser

from spacy_sapbert.evaluation.plots import BLUE, in_style, new_figure, save_figure
from spacy_sapbert.kb.knowledge_base import KnowledgeBase

MOST = 20  # names of a concept; the last bar has this many or more


@in_style()
def draw_names_per_concept(kb: KnowledgeBase, path: Path) -> dict[str, int]:
    """Draw a histogram, and return its bars: the number of concepts by number of names."""
    counts = Counter(min(len(list(kb.names_of(one))), MOST) for one in kb.concept_ids())
    bars = {f"{n}+" if n == MOST else str(n): counts[n] for n in range(1, MOST + 1)}
    figure = new_figure(7, 3)
    axes = figure.add_subplot(xlabel="names", ylabel="concepts", yscale="log")
    axes.bar(list(bars), list(bars.values()), color=BLUE)
    axes.set_title(f"{sum(bars.values()):,} concepts with {kb.n_names:,} names", loc="left")
    save_figure(figure, path)
    return bars


def run(*command: object) -> None:
    subprocess.run([sys.executable, "-m", "spacy_sapbert", *map(str, command)], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kb", required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", default="starter-transformer")
    parser.add_argument("--log", type=Path, required=True)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    bars = draw_names_per_concept(KnowledgeBase(args.kb), args.folder / "names_per_concept.svg")
    with tempfile.TemporaryDirectory() as plots:
        run("evaluate", "separation", args.before, args.pairs, "--and", args.after, "--plots", plots)
        for name in ("separation", "heat_map", "clusters"):
            (args.folder / f"{name}.svg").write_bytes((Path(plots) / f"{name}.svg").read_bytes())
    run("evaluate", "training", args.log, "--plot", args.folder / "recall_by_epoch.svg")
    print(json.dumps({"concepts by number of names": bars}, indent=2))


if __name__ == "__main__":
    main()
