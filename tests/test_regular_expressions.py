"""No regular expression takes more than linear time, so no text can make it hang.

Every compiled pattern of the package is called as the package calls it, on texts that are made from the pattern itself:
what stands before a repetition, then the repeated part thousands of times, then something that does not fit.
"""

import importlib
import inspect
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

import spacy_sapbert
from spacy_sapbert.text.languages import LANGUAGES, rules_of

try:
    from re import _constants as sre
    from re import _parser
except ImportError:  # Python 3.10
    import sre_constants as sre
    import sre_parse as _parser

PACKAGE = Path(spacy_sapbert.__file__).parent
METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn")
# small steps for exponential patterns
SIZES = (16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 80, 100, 1000, 4000, 20_000, 40_000)
SLOW = 0.2  # processor seconds; a linear pattern takes a hundredth of that, and a quadratic one several seconds
QUADRATIC = 0.15e-9  # the least seconds for each pair of characters
BRANCHES = 5  # of those that are repeated; the words of a language are hundreds
SAMPLES = {sre.CATEGORY_DIGIT: "1", sre.CATEGORY_SPACE: " ", sre.CATEGORY_WORD: "a", sre.CATEGORY_NOT_SPACE: "a"}
# for constants of the package and for what a library says
NOT_OF_USERS = {"vectors.faiss_index", "text.long_forms"}
NOT_INSTALLED = {"runs.oak"}  # oaklib is in no extra


def patterns():
    """YIELDS (str, re.Pattern): the place and the pattern, for each one of a module, its objects, or a language."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if name not in ("__main__", *NOT_OF_USERS, *NOT_INSTALLED):
            module = importlib.import_module(f"spacy_sapbert.{name}")
            yield from inside(vars(module), name, depth=4)
    for code in LANGUAGES:
        rules = rules_of(code)
        yield from inside(vars(rules), code, depth=4)
        yield from inside(inspect.getclosurevars(rules.words.spell).nonlocals, code, depth=4)


def inside(value, place, depth):
    if isinstance(value, re.Pattern):
        yield place, value
    elif depth and isinstance(value, Mapping):
        for key, item in value.items():
            if not str(key).startswith("__"):
                yield from inside(item, f"{place}.{key}", depth - 1)
    elif depth and isinstance(value, tuple):
        for key, item in zip(getattr(value, "_fields", range(len(value))), value, strict=False):
            yield from inside(item, f"{place}.{key}", depth - 1)
    elif depth and hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        yield from inside(vars(value), place, depth)


def calls(source):
    """RETURNS (dict[str, set[str]]): the methods that are called on each name or attribute, anywhere in the package."""
    found = {}
    for name, method in re.findall(rf"(\w+)(?:\[\w+\])?\.({'|'.join(METHODS)})\(", source):
        found.setdefault(name, set()).add(method)
    return found


def sample(tree):
    """RETURNS (str): a short text that fits a parsed pattern, without regard to what must stand around it."""
    return "".join(map(sample_of, tree))


def sample_of(node):
    kind, value = node
    if kind in (sre.LITERAL, sre.RANGE):
        return chr(value if kind == sre.LITERAL else value[0])
    if kind == sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if kind == sre.ANY:
        return "a"
    if kind == sre.CATEGORY:
        return SAMPLES.get(value, "!")
    if kind == sre.IN:
        return "x" if value[0][0] == sre.NEGATE else sample_of(value[0])
    if kind == sre.BRANCH:
        return sample(value[1][0])
    if kind == sre.SUBPATTERN:
        return sample(value[-1])
    if kind in REPEATS:
        return sample(value[2]) * max(1, value[0])
    return sample(value) if kind == getattr(sre, "ATOMIC_GROUP", None) else ""


REPEATS = {getattr(sre, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(sre, name)}


def units(tree):
    """YIELDS (str): samples of what is repeated: of its first branches, if it has any."""
    yield sample(tree)
    for kind, value in tree:
        if kind == sre.SUBPATTERN:
            yield from units(value[-1])
        elif kind == sre.BRANCH:
            yield from map(sample, value[1][:BRANCHES])


def attacks(tree, before=""):
    """YIELDS (str, str): what stands before a repetition, and what is repeated."""
    for node in tree:
        kind, value = node
        if kind in REPEATS:
            yield from ((before, unit) for unit in units(value[2]))
            yield from attacks(value[2], before)
        elif kind == sre.SUBPATTERN:
            yield from attacks(value[-1], before)
        elif kind == sre.BRANCH:
            for branch in value[1]:
                yield from attacks(branch, before)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from attacks(value[1], before)
        before += sample_of(node)


def seconds(pattern, method, text):
    """RETURNS (float): processor seconds of a call, which is stopped after some time."""
    signal.setitimer(signal.ITIMER_PROF, 2 * SLOW)
    started = time.thread_time()
    try:
        result = getattr(pattern, method)(*(("", text) if method in ("sub", "subn") else (text,)))
        if method == "finditer":
            for _ in result:
                pass
    except TimeoutError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.thread_time() - started


@pytest.fixture(autouse=True, scope="module")
def _stopping():
    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    yield
    signal.signal(signal.SIGPROF, before)


def is_slow(pattern, methods):
    """RETURNS (bool): whether some text takes a method of the pattern more than linear time.

    Larger texts are tried as long as the time may be quadratic.
    """
    binary = isinstance(pattern.pattern, bytes)
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    for before, unit in filter(lambda pair: pair[1], dict.fromkeys([*attacks(parsed), ("", sample(parsed))])):
        for after in ("", "!", "\0a"):
            for n in SIZES:
                text = before + unit * max(1, n // len(unit)) + after
                took = max(seconds(pattern, method, text.encode() if binary else text) for method in methods)
                if took > SLOW:
                    return True
                if took < QUADRATIC * n * n:
                    break
    return False


@pytest.mark.parametrize(
    ("pattern", "methods", "slow"),
    [
        (r"\s+$", {"search"}, True), (r"\s+$", {"match"}, False), (r"pmid:?\s*(\d+)", {"fullmatch"}, False),
        (r"pmid:?\s*\s*\d+x", {"fullmatch"}, True), (r"(a+)+b", {"match"}, True), (r"(?:a|b|ab)*c", {"match"}, True),
        (r"[a-z]+ly\b", {"findall"}, True), (r"[^\W_]+", {"finditer"}, False), (rb"x*y", {"search"}, True),
    ],
)  # fmt: skip
def test_the_measure_itself(pattern, methods, slow):
    assert is_slow(re.compile(pattern), methods) == slow


def test_every_pattern_takes_linear_time():
    used = calls("\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")))
    known = {}
    for place, pattern in patterns():
        known.setdefault((pattern.pattern, pattern.flags), (place, pattern))
    assert len(known) > 100
    slow = []
    for place, pattern in known.values():
        methods = next((used[part] for part in reversed(place.split(".")) if part in used), {"search"})
        slow += [place] if is_slow(pattern, methods) else []
    assert slow == []
