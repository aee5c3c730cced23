"""English cues for the assertion of a mention, in the form of negspaCy's termsets (NegEx; Chapman et al. 2001).

The kinds of assertion are those of ConText (Harkema et al. 2009). Cues of negation come from negspaCy itself.
"""

from __future__ import annotations

from itertools import product

Termset = dict[str, list[str]]

FLAGS = ("negated", "uncertain", "family", "historical", "hypothetical")
"""The flags of a mention, in the order in which they are reported."""
PSEUDO, BEFORE, AFTER, TERMINATION = TERMSET_KEYS = (
    "pseudo_negations",
    "preceding_negations",
    "following_negations",
    "termination",
)
"""The lists of a termset: phrases that look like cues, cues before and after a mention, and ends of their scope."""

NOT_EXCLUDED = (
    "doubt",
    "evaluate for",
    "r/o",
    "ro",
    "rule him out",
    "rule her out",
    "rule out",
    "rule patient out",
    "rule the patient out",
    "versus",
)
"""Cues of negspaCy's list that do not deny a mention: "rule out" is a plan, and its result is not known."""

_TERMINATION = ["although", "apart from", "aside from", "but", "except", "however", "nevertheless", "though", "yet"]
_PLAIN_RELATIVES = (
    *("mother", "father", "parent", "brother", "sister", "sibling", "son", "daughter", "aunt", "uncle", "cousin"),
    *("nephew", "niece", "grandmother", "grandfather", "grandparent", "mom", "dad"),
)
_RELATIVES = [*_PLAIN_RELATIVES, *map("{}s".format, _PLAIN_RELATIVES), "relatives"]
_OWNERS = ("his", "her", "their", "the", "a", "one", "two")
_INFORMS = ("reports", "reported", "states", "stated", "says", "said", "denies", "noticed", "brought", "called")

_UNCERTAIN: Termset = {
    PSEUDO: [
        *("as possible", "if possible", "possible to", "less likely", "more likely", "most likely to", "likelihood"),
        *("not likely", "in may", "of may", "since may", "until may"),
    ],
    BEFORE: [
        *filter("versus".__ne__, NOT_EXCLUDED),  # in abstracts it compares groups
        *("possible", "possibly", "probable", "probably", "likely", "presumed", "presumptive", "questionable"),
        *("suspect", "suspects", "suspected", "suspicion of", "suspicion for", "suspicious for", "question of"),
        *("concern for", "concerned for", "concerning for", "suggest", "suggests", "suggesting", "suggestive of"),
        *("may", "might", "could be", "could have", "could represent", "could indicate"),
        *("appears to be", "seems to be"),
        *("cannot exclude", "can not exclude", "cannot rule out", "can not rule out", "not ruled out"),
        *("differential", "differential diagnosis", "test for", "tested for", "assess for", "evaluated for"),
        *("whether", "unclear if", "uncertain", "putative", "hypothesize", "hypothesized"),
    ],
    AFTER: [
        *("possible", "probable", "likely", "suspected", "questionable", "uncertain", "unclear", "not certain", "?"),
        *("cannot be excluded", "can not be excluded", "cannot be ruled out", "can not be ruled out"),
        *("not excluded", "not be excluded", "not ruled out", "not been ruled out", "not been excluded"),
        *("should be ruled out", "must be ruled out", "to be ruled out", "is considered", "was considered"),
    ],
    TERMINATION: _TERMINATION,
}
_FAMILY: Termset = {
    PSEUDO: [
        *("daughter cell", "daughter cells", "daughter chromosomes", "sister chromatid", "sister chromatids"),
        *("sister group", "sister species", "sister taxa", "parent compound", "parent compounds", "parent drug"),
        *map(" ".join, product(_PLAIN_RELATIVES, _INFORMS)),
    ],
    BEFORE: [*_RELATIVES, "family history", "family hx", "fh", "fhx", "family members"],
    AFTER: [
        *map(" ".join, product(["in"], _OWNERS, _RELATIVES)),
        *("in the family", "in his family", "in her family", "runs in the family"),
    ],
    TERMINATION: [*_TERMINATION, "he", "she", "patient", "who"],
}
_HISTORICAL: Termset = {
    PSEUDO: [
        *("family history", "family history of", "family hx", "history and physical", "history taking"),
        *("natural history", "life history", "long history", "prior to", "previous studies", "previous study"),
        *("previous reports", "prior studies", "prior study"),
    ],
    BEFORE: [
        *("history of", "history", "h/o", "hx", "hx of", "medical history", "past history", "past medical history"),
        *("pmh", "pmhx", "previous", "previously had", "prior", "status post", "s/p", "remote", "former", "formerly"),
        "in the past",
    ],
    AFTER: [
        *("in the past", "years ago", "year ago", "months ago", "decades ago", "as a child", "as an infant"),
        *("in childhood", "during childhood", "in infancy", "in his youth", "in her youth"),
    ],
    TERMINATION: [
        *(*_TERMINATION, "now", "currently", "today", "presents", "presented", "presenting", "complains of"),
        *("admitted", "is admitted", "was admitted"),
    ],
}
_HYPOTHETICAL: Termset = {
    PSEUDO: ["as if", "even if", "if any", "low risk", "what if"],
    BEFORE: [
        *("if", "unless", "in case of", "in the event of", "return for", "should you", "should he", "should she"),
        *("at risk of", "at risk for", "risk of", "risk for", "prevent", "prevents", "to prevent", "prevention of"),
        *("prophylaxis against", "prophylaxis for", "prophylaxis of", "protect against", "screen for"),
        *("screened for", "screening for", "immunized against", "vaccinated against", "vaccination against"),
        *("vaccine against", "monitor for", "monitored for", "watch for", "as needed for", "prn"),
    ],
    AFTER: ["precautions", "prevention", "prophylaxis", "screening", "vaccination", "vaccine"],
    TERMINATION: _TERMINATION,
}
CUES: dict[str, Termset] = {
    "uncertain": _UNCERTAIN,
    "family": _FAMILY,
    "historical": _HISTORICAL,
    "hypothetical": _HYPOTHETICAL,
}
"""The termset of each flag, except negation."""
