"""A tokenizer for biomedical English that rarely splits mentions at the wrong place, and a bound on tokenizing time."""

import re
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc

from ..errors import ChoiceError, Errors, SapbertError

if TYPE_CHECKING:
    from spacy.language import Language

LONGEST_PIECE = 256
"""The most characters without a blank that the rules for prefixes, suffixes and infixes get at once."""

# what touches a mention within a word: K(+)-ATPase, Na+/K+, PAN)-induced, thallium-201, (+/-)-PG-9
_INFIXES = (
    r"[()\[\]{}]",
    r"(?<=[()\[\]{}])[-–/+]",
    r"(?<=[A-Za-z0-9+])[+/](?=\S)",
    r"(?<=[A-Za-z])[-–](?=[0-9])",
    r"(?<=[0-9])[-–](?=[A-Za-z])",
)
_PREFIXES = (r"[-–/+](?=[A-Za-z0-9(\[])",)
# not after a single letter, as in E. coli
_SUFFIXES = (r"(?<=\S)[-–/]", r"(?<=[A-Za-z)\]])\+", r"(?<=[A-Za-z0-9][A-Z])\.")


_LONG_WORD = re.compile(rf"(?<!\S)\S{{{LONGEST_PIECE + 1},}}")


class BoundedTokenizer(Tokenizer):
    """spaCy's tokenizer, in linear time.

    spaCy's own tokenizer takes quadratic time for a run of signs such as `((((`: it searches the whole run for a suffix
    after each prefix. This one cuts a text without blanks into pieces of at most `LONGEST_PIECE` characters. Shorter
    runs, and runs of letters and digits alone, get the same tokens as in spaCy's.
    """

    @classmethod
    def like(cls, tokenizer: Tokenizer) -> "BoundedTokenizer":
        """Return a tokenizer with the rules of another one."""
        return cls(
            tokenizer.vocab,
            tokenizer.rules,
            tokenizer.prefix_search,
            tokenizer.suffix_search,
            tokenizer.infix_finditer,
            tokenizer.token_match,
            tokenizer.url_match,
            tokenizer.faster_heuristics,
        )

    def __call__(self, string: str) -> Doc:
        """Tokenize a text."""
        cuts = [0, *_cuts(string), len(string)]
        if len(cuts) == 2:
            return super().__call__(string)
        pieces = [super(BoundedTokenizer, self).__call__(string[start:end]) for start, end in pairwise(cuts)]
        # a special case can set the norm of a token
        joined = Doc.from_docs(pieces, ensure_whitespace=False, attrs=["NORM"])
        assert joined is not None  # there are two pieces or more
        return joined


def blank_pipeline(lang: str, tokenizer: str | None = None) -> "Language":
    """Return an empty pipeline of a language, which takes linear time to tokenize a text.

    Args:
        lang: The code of the language.
        tokenizer: The registered name of another tokenizer.

    Raises:
        SapbertError: E125 there is no such tokenizer.
    """
    import spacy
    from spacy.util import get_lang_class, registry

    if tokenizer is not None:
        if not registry.has("tokenizers", tokenizer):
            raise ChoiceError(
                given=tokenizer, what="registered tokenizer", choices=sorted(registry.tokenizers.get_all())
            )
        return spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": tokenizer}}})
    made = get_lang_class(lang)
    own = made.default_config["nlp"]["tokenizer"]["@tokenizers"] == "spacy.Tokenizer.v1"
    return made(create_tokenizer=_bounded) if own else spacy.blank(lang)


def bound_tokenizer(nlp: "Language") -> None:
    """Replace spaCy's own tokenizer by one with the same rules in linear time. One of another class stays."""
    if type(nlp.tokenizer) is Tokenizer:
        nlp.tokenizer = BoundedTokenizer.like(nlp.tokenizer)


def load_pipeline(name: str) -> "Language":
    """Load a folder or an installed package. It then tokenizes in linear time, see `BoundedTokenizer`."""
    import spacy
    from spacy.util import is_package

    try:
        nlp = spacy.load(name)
    except SapbertError:
        raise
    except Exception as error:  # configs, components and models raise errors without a common base class
        code = Errors.E502 if Path(name).exists() or is_package(name) else Errors.E501
        raise SapbertError(code.format(name=name, reason=describe_error(error))) from error
    bound_tokenizer(nlp)
    return nlp


def describe_error(error: Exception) -> str:
    """Return the kind of an error, and its message."""
    return f"{type(error).__name__}: {error}"


def _cuts(text: str) -> Iterator[int]:
    """Yield where to cut long words with signs: after a sign, if there is one among the characters of a piece."""
    for word in _LONG_WORD.finditer(text):
        start, end = word.span()
        while not word[0].isalnum() and end - start > LONGEST_PIECE:
            cuts = range(start + LONGEST_PIECE, start, -1)
            start = next((cut for cut in cuts if not text[cut - 1].isalnum()), cuts[0])
            yield start


def make_biomedical_tokenizer() -> "Callable[[Language], Any]":
    """Make spaCy's tokenizer for the language, which also splits at brackets, signs and dashes inside words.

    Mentions of chemicals and diseases end there: `K(+)-ATPase`, `Na+/K+`, `thallium-201`. It takes linear time, see
    `BoundedTokenizer`.
    """
    return partial(_bounded, prefixes=_PREFIXES, infixes=_INFIXES, suffixes=_SUFFIXES)


def _bounded(
    nlp: "Language", prefixes: Sequence[str] = (), infixes: Sequence[str] = (), suffixes: Sequence[str] = ()
) -> BoundedTokenizer:
    """Make a tokenizer of all rules at once: a tokenizer that is given another rule reads all special cases again."""
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

    defaults = nlp.Defaults
    before, within, after = (
        [*(of_language or ()), *others]
        for of_language, others in (
            (defaults.prefixes, prefixes), (defaults.infixes, infixes), (defaults.suffixes, suffixes)
        )
    )  # fmt: skip
    return BoundedTokenizer(
        nlp.vocab,
        defaults.tokenizer_exceptions,
        compile_prefix_regex(before).search if before else None,
        compile_suffix_regex(after).search if after else None,
        compile_infix_regex(within).finditer if within else None,
        defaults.token_match,
        defaults.url_match,
    )
