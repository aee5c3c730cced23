"""Spell out Greek letters: "α-thalassemia" becomes "alpha-thalassemia"."""

from __future__ import annotations

import re
import unicodedata

MAX_RUN = 3  # Greek letters in a row; a longer run is a Greek word

_NAMES = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "omicron", "pi", "rho", "sigma", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
)  # fmt: skip
"""Names in the order of the code points from α. The first sigma is final sigma."""
_BLOCKS = (
    range(0x00B5, 0x00B6),  # µ, the micro sign
    range(0x0370, 0x0400),  # Greek
    range(0x1D5D, 0x1D6B),  # superscript and subscript letters
    range(0x1F00, 0x2000),  # Greek with accents
    range(0x2126, 0x2127),  # Ω, the ohm sign
    range(0x1D6A8, 0x1D7CC),  # mathematical letters, bold and italic
)


def _letters() -> dict[str, str]:
    """Map each character that is a variant of a Greek letter to its name."""
    names = {chr(ord("α") + place): name for place, name in enumerate(_NAMES)}
    names |= {letter.upper(): name.capitalize() for letter, name in names.items()}
    variants = {chr(code): unicodedata.normalize("NFKD", chr(code))[0] for block in _BLOCKS for code in block}
    # these have no decomposition: the increment sign stands for Δ, and the phonetic letter for α
    variants |= {"∆": "Δ", "ɑ": "α"}
    return names | {variant: names[letter] for variant, letter in variants.items() if letter in names}


_LETTERS = _letters()
_RUN = re.compile(rf"(?:[{''.join(_LETTERS)}][\u0300-\u036f]*)+")


def spell_out_greek(text: str) -> str:
    """Replace Greek letters by their names: "TNFα" becomes "TNFalpha", "αβ T cells" becomes "alpha-beta T cells".

    Accents, final sigma, the micro sign and mathematical letters count as the plain letter. A capital letter gets a
    capitalized name. Greek words stay as they are.
    """
    return text if text.isascii() else _RUN.sub(_spell_out, text)


def _spell_out(run: re.Match[str]) -> str:
    names = [_LETTERS[letter] for letter in run[0] if letter in _LETTERS]
    return "-".join(names) if len(names) <= MAX_RUN else run[0]
