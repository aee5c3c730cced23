import numpy as np
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.training import development_accuracy as development
from spacy_sapbert.training.development_accuracy import NearestName
from spacy_sapbert.types import Name, Record

VOCABULARY = {"D1": ["liver disease", "hepatopathy"], "D2": ["heart attack"], "D3": ["shock"], "D4": ["SHOCK", "fall"]}
ALTERNATIVE = {"D2": ("D9",)}
# in degrees; a text that is not here cannot be encoded
PLACES = {
    "liver disease": 0, "hepatopathy": 90, "heart attack": 30, "shock": 200, "fall": 300,
    "sick liver": 10, "liver trouble": 20, "infarction": 31, "trauma": 201,
}  # fmt: skip


class Stub:
    """Puts texts at places that are known, whatever their case."""

    text_normalizer = "lower"

    def encode(self, texts, *, fast=False):
        angles = np.radians([PLACES[text.lower()] for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def line(start, text, label, ids):
    return f"1\t{start}\t{start + len(text)}\t{text}\t{label}\t{ids}\n"


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    records = [
        Record(one, tuple(Name(text, "exact", "t") for text in names), ALTERNATIVE.get(one, ()))
        for one, names in VOCABULARY.items()
    ]
    return str(build_knowledge_base(records, tmp_path_factory.mktemp("kb") / "small.kb").path)


@pytest.fixture
def measure(kb, tmp_path):
    """A function that measures the stub on mentions: (text, type, ids)."""

    def run(*mentions, **settings):
        text = " ".join(text for text, _, _ in mentions)
        starts = np.cumsum([0, *(len(text) + 1 for text, _, _ in mentions)])
        path = tmp_path / "corpus.txt"
        annotations = "".join(line(start, *mention) for start, mention in zip(starts, mentions, strict=False))
        path.write_text(f"1|t|{text}\n1|a|\n{annotations}\n")
        return NearestName(str(path), kb, format="pubtator", **settings)(Stub())

    return run


def test_the_nearest_name_by_hand(measure, monkeypatch):
    """10° is next to its concept's 0°, 20° is next to 30° of another; within two names both are found."""
    monkeypatch.setattr(development, "CANDIDATES", 2)
    result = measure(("sick liver", "Disease", "D1"), ("liver trouble", "Disease", "D1"), ("trauma", "Disease", "D2"))
    assert result == {"acc@1": pytest.approx(100 / 3), "recall@2": pytest.approx(200 / 3)}


LIVER, TROUBLE = ("sick liver", "Disease", "D1"), ("liver trouble", "Disease", "D1")


@pytest.mark.parametrize(
    ("mentions", "accuracy"),
    [
        ([*[LIVER] * 3, TROUBLE], 75),  # a mention counts each time
        ([("infarction", "Disease", "D9")], 100),  # an alternative id stands for its concept
        ([LIVER, ("trauma", "Disease", "D1|D2"), ("trauma", "Disease", "D77")], 100),  # what cannot be found
        # names that differ in case only are one for the encoder, so which of them comes first says nothing
        ([("trauma", "Disease", "D3")], 100),
        ([("trauma", "Disease", "D4")], 100),
    ],
)
def test_what_counts(measure, mentions, accuracy):
    assert measure(*mentions)["acc@1"] == accuracy


def test_types_can_be_chosen(measure):
    mentions = [LIVER, ("liver trouble", "Other", "D1")]
    assert measure(*mentions)["acc@1"] == 50
    assert measure(*mentions, types=["Disease"])["acc@1"] == 100
    with pytest.raises(SapbertError, match="E105"):
        measure(*mentions, types=["Chemical"])


def test_nothing_to_measure_is_reported(measure):
    with pytest.raises(SapbertError, match=r"E105.*among the 2 of"):
        measure(("trauma", "Disease", "D77"), ("shock", "Disease", "D1|D2"))


def test_many_mentions_are_taken_in_parts(measure, monkeypatch):
    mentions = [(text, "Disease", "D1") for text in PLACES]
    whole = measure(*mentions)
    monkeypatch.setattr(development, "_MENTIONS_AT_ONCE", 2)
    assert measure(*mentions) == whole
