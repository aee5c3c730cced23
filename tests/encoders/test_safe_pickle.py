from __future__ import annotations

import os
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from spacy_sapbert.encoders.safe_pickle import _ALLOWED, Inert, read_vectorizer
from spacy_sapbert.errors import SapbertError

NAMES = ["breast cancer", "cold", "fits"]
FITTED = TfidfVectorizer(analyzer="char", ngram_range=(1, 2)).fit(NAMES)


class Calls:
    """What is pickled as a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.fixture
def write(tmp_path):
    """A function that writes the content of a pickle, and gives its path."""

    def write(content):
        path = tmp_path / "sparse_encoder.pk"
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_a_fitted_vectorizer(write, protocol):
    result = read_vectorizer(write(pickle.dumps(FITTED, protocol))).state
    assert result["vocabulary_"] == FITTED.vocabulary_
    assert (result["ngram_range"], result["analyzer"], result["lowercase"]) == ((1, 2), "char", True)
    np.testing.assert_array_equal(result["_tfidf"].state["idf_"].values, FITTED.idf_)
    assert isinstance(result["_tfidf"], Inert)


def test_numbers_in_every_form(write):
    """Numbers of numpy, arrays by columns and of another byte order, sets and sparse matrices."""
    vectorizer = TfidfVectorizer()
    vectorizer.vocabulary_ = {"a": np.int64(1), "b": np.float32(0.5)}
    vectorizer.table = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    vectorizer.stop_words_ = {"x", "y"}
    vectorizer.matrix = csr_matrix(np.diag([1.5, 2.5]))
    for protocol in (3, 4, 5):
        result = read_vectorizer(write(pickle.dumps(vectorizer, protocol))).state
        assert result["vocabulary_"] == {"a": 1, "b": 0.5}
        assert result["table"].values.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert result["stop_words_"] == {"x", "y"}
        assert result["matrix"].state["data"].values.tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("call", "refused"),
    [
        (Calls(os.system, "touch {marker}"), rf"{os.system.__module__}\.system"),
        (Calls(exec, "open('{marker}', 'w')"), r"builtins\.exec"),
        (Calls(getattr, np.ndarray, "tofile"), r"builtins\.getattr"),
        (np.save, r"numpy\.save"),
        (np.ndarray.tofile, r"builtins\.getattr|numpy\.ndarray\.tofile"),
        (Inert, r"spacy_sapbert\.encoders\.safe_pickle\.Inert"),
    ],
)
@pytest.mark.parametrize("protocol", [3, 4])
def test_nothing_that_is_named_runs(write, tmp_path, call, refused, protocol):
    marker = tmp_path / "ran"
    if isinstance(call, Calls):
        function, arguments = call.call
        call = Calls(function, *(a.format(marker=marker) if isinstance(a, str) else a for a in arguments))
    vectorizer = TfidfVectorizer().set_params(preprocessor=call)
    with pytest.raises(SapbertError, match=rf"E343.*sparse_encoder\.pk refers to ({refused}),"):
        read_vectorizer(write(pickle.dumps(vectorizer, protocol)))
    assert not marker.exists()


def test_a_pickle_by_hand(write, tmp_path):
    """It would call os.system before anything else is read."""
    marker = tmp_path / "ran"
    content = b"cposix\nsystem\n(S'touch %s'\ntR." % os.fsencode(marker)
    pickle.loads(content.replace(b"posix\nsystem", os.system.__module__.encode() + b"\nsystem"))
    assert marker.exists()
    marker.unlink()
    with pytest.raises(SapbertError, match=r"E343.*posix\.system"):
        read_vectorizer(write(content))
    assert not marker.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cnumpy\nndarray\n(N}S'made'\nI1\nstb.",  # attributes for a class itself
        b"cnumpy.core.multiarray\nscalar\n(N}S'made'\nI1\nstb.",
        b"cbuiltins\nset\n(N}S'made'\nI1\nstb.",
        b"S'id'\nP.",
        b"P1\n.",
        b"\x82\x01.",
    ],
)
def test_what_the_stand_ins_are_does_not_change(write, content):
    with pytest.raises(SapbertError, match=r"E344.*sparse_encoder\.pk is damaged"):
        read_vectorizer(write(content))
    assert not any(hasattr(stand_in, "made") for stand_in in _ALLOWED.values())


def test_a_pickle_of_something_else(write):
    with pytest.raises(SapbertError, match=r"E344.*does not hold a TfidfVectorizer"):
        read_vectorizer(write(pickle.dumps(FITTED._tfidf)))


@pytest.mark.parametrize("dtype", [object, "f8,i4", "U3", "M8[s]", "c16"])
def test_arrays_of_anything_but_numbers(write, dtype):
    vectorizer = TfidfVectorizer()
    vectorizer.array = np.zeros(2, dtype)
    array = read_vectorizer(write(pickle.dumps(vectorizer))).state["array"]
    with pytest.raises((ValueError, TypeError)):
        _ = array.values


def outcome(path):
    try:
        read_vectorizer(path)
    except SapbertError as error:
        return str(error)[:6]
    return "read"


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([3, 4]), st.floats(0, 1, exclude_max=True), st.integers(0, 255))
def test_a_damaged_pickle_is_reported(tmp_path_factory, protocol, position, byte):
    """Cut off or with a byte changed, it is read or refused: no other error comes out."""
    content = pickle.dumps(FITTED, protocol)
    position = int(position * len(content))
    path = tmp_path_factory.mktemp("damaged") / "sparse_encoder.pk"
    path.write_bytes(content[:position])
    assert outcome(path) in ("[E343]", "[E344]")
    path.write_bytes(content[:position] + bytes([byte]) + content[position + 1 :])
    assert outcome(path) in ("[E343]", "[E344]", "read")


def shared_values(depth, pair):
    """A value of a few hundred bytes that has 2 ** depth parts when it is written out or hashed."""
    value = "x"
    for _ in range(depth):
        value = pair(value)
    return value


class Raw:
    """What is pickled as the attributes of a vectorizer."""

    def __init__(self, state):
        self.state = state

    def __reduce__(self):
        return TfidfVectorizer, (), self.state


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Raw({"vocabulary_": shared_values(200, lambda value: (value, value))}), 4),
        pickle.dumps(Raw(shared_values(200, lambda value: (value, value))), 2),
        b"\x80\x04N" + pickle.LONG_BINPUT + (2**28).to_bytes(4, "little") + b".",
        b"\x80\x05" + pickle.BYTEARRAY8 + (2**40).to_bytes(8, "little") + b"x.",
        b"\x80\x04" + pickle.BINUNICODE8 + (2**40).to_bytes(8, "little") + b"x.",
    ],
)
def test_a_small_pickle_takes_little_time_and_memory(write, content):
    tracemalloc.start()
    try:
        with pytest.raises(SapbertError, match="E344") as error:
            read_vectorizer(write(content))
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()
    assert len(str(error.value)) < 1000
