"""A tokenizer for biomedical English that rarely splits mentions at the wrong place."""

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from spacy.language import Language

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


def make_biomedical_tokenizer() -> "Callable[[Language], Any]":
    """Make spaCy's tokenizer for the language, which also splits at brackets, signs and dashes inside words.

    Mentions of chemicals and diseases end there: `K(+)-ATPase`, `Na+/K+`, `thallium-201`.
    """

    def make(nlp: "Language") -> Any:
        from spacy.language import create_tokenizer
        from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

        tokenizer = create_tokenizer()(nlp)
        defaults = nlp.Defaults
        tokenizer.prefix_search = compile_prefix_regex([*(defaults.prefixes or ()), *_PREFIXES]).search
        tokenizer.infix_finditer = compile_infix_regex([*(defaults.infixes or ()), *_INFIXES]).finditer
        tokenizer.suffix_search = compile_suffix_regex([*(defaults.suffixes or ()), *_SUFFIXES]).search
        return tokenizer

    return make
