"""Count what runs of the package on a trip through it. Bodies of modules and classes are not counted.

    python tests/trips.py document PIPELINE FILE OUTPUT  # one file through `link`, from the start of the process
    python tests/trips.py mention PIPELINE               # one mention through the linker, after others

The last line is JSON: how many functions of each file ran, and how often the next one was in another file. A process
makes one trip, since what it did before would make the next one shorter.
"""

import inspect
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType

import spacy

import spacy_sapbert
from spacy_sapbert.cli import main

PACKAGE = os.path.join(os.path.dirname(spacy_sapbert.__file__), "")


def counted(run: Callable[[], object]) -> dict[str, object]:
    """Call a function, which may end the process, and return what ran of the package."""
    functions, path = set[tuple[str, int]](), list[str]()

    def trace(frame: FrameType, *_: object) -> None:  # at each call; what it returns would see the lines, too
        code, caller = frame.f_code, frame.f_back
        if code.co_name[0] == "<" and caller and caller.f_code.co_name == "<module>":  # a comprehension in its body
            return
        if code.co_filename.startswith(PACKAGE) and code.co_flags & inspect.CO_OPTIMIZED:
            functions.add((code.co_filename, code.co_firstlineno))
            path.append(code.co_filename)

    threading.settrace(trace)
    sys.settrace(trace)
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.settrace(None)
        threading.settrace(None)
    files = Counter(Path(name).relative_to(PACKAGE).as_posix() for name, _ in functions)
    return {"files": files, "changes": sum(one != other for one, other in pairwise(path))}


def document(*arguments: str) -> dict[str, object]:
    """Link a file with the command."""
    sys.argv[1:] = ["link", arguments[0], arguments[1], "--output", arguments[2]]
    return counted(main)


def mention(pipeline: str) -> dict[str, object]:
    """Link a mention that is no name of the vocabulary."""
    nlp = spacy.load(pipeline)
    linker = nlp.get_pipe("sapbert_linker")
    for text in ("He had fever.", "She had pyrexia.", "A fever rose."):
        nlp(text)
    doc = nlp.make_doc("He had bronchial asthmas.")
    doc.ents = [doc.char_span(7, 24, label="CONCEPT")]
    return {**counted(lambda: linker(doc)), "id": doc.ents[0].kb_id_}


if __name__ == "__main__":
    trip, *arguments = sys.argv[1:]
    sys.stdout.write(f"\n{json.dumps({'document': document, 'mention': mention}[trip](*arguments))}\n")
