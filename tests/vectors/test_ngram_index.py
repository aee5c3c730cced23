import errno
import json
import multiprocessing
import shutil
import sys
import threading
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders import ngrams
from spacy_sapbert.encoders.ngrams import NgramEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.filters import Filter, filter_mask
from spacy_sapbert.text.characters import code_points
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors import ngram_index, postings, postings_build
from spacy_sapbert.vectors.ngram_index import NgramIndex, open_ngram_index
from spacy_sapbert.vectors.postings_build import FILES, MANIFEST_FILE, build_ngram_index

TEXTS = ["breast cancers", "cold", "seizure", "lithium salts", "", "zzz", "жж", "acute leukemia of the breast"]
EVERYTHING = 10**9  # postings
fork = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")


def knowledge_base(names, folder, source="s"):
    folder.mkdir(exist_ok=True)
    records = [Record(f"C{i}", (Name(name, "exact", source),)) for i, name in enumerate(names)]
    return build_knowledge_base(records, folder / "a.kb")


def build(names, folder, **settings):
    """RETURNS: the index of names, which are in the order of their rows."""
    kb = knowledge_base(names, folder)
    build_ngram_index(kb, NgramEncoder.fit(kb.names(), **settings), folder / "index")
    return NgramIndex(folder / "index", kb)


@pytest.fixture(scope="module")
def small_folder(small_kb, tmp_path_factory):
    folder = tmp_path_factory.mktemp("postings") / "index"
    build_ngram_index(small_kb, NgramEncoder.fit(small_kb.names()), folder)
    return folder


@pytest.fixture
def index(small_kb, small_folder):
    return NgramIndex(small_folder, small_kb)


@pytest.fixture
def copied(small_folder, tmp_path):
    """The folder of an index that a test may damage."""
    return Path(shutil.copytree(small_folder, tmp_path / "copied"))


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))


def pairs(index, texts):
    """RETURNS: the queries, and all pairs of a text and a name."""
    n = index.kb.n_names
    return index.encode(texts), np.repeat(np.arange(len(texts)), n), np.tile(np.arange(n), len(texts))


def cosines(index, texts):
    names = index.ngrams.encode(list(index.kb.names()))
    return (index.ngrams.encode(texts) @ names.T).toarray()


def check_products(index, texts):
    products = index.products(*pairs(index, texts)).reshape(len(texts), -1)
    assert products.dtype == np.float32
    np.testing.assert_allclose(products, cosines(index, texts), atol=2e-6)


# --- exact scores


def test_products_are_cosines(index, small_kb):
    check_products(index, [*TEXTS, *small_kb.names()])


SOME_TEXT = st.text("abc αβé漢😀\u2028-?", min_size=1, max_size=7)


@settings(max_examples=60)
@given(
    st.lists(SOME_TEXT, min_size=1, max_size=10),
    st.lists(SOME_TEXT, min_size=1, max_size=4),
    st.sampled_from([(1, 2), (1, 3), (2, 3), (3, 3), (1, 1)]),
    st.sampled_from(["biosyn+greek", "lower"]),
    st.sampled_from([0, 100, 2**22]),
    st.sampled_from([1, 10, 2**20]),
)
def test_products_of_any_names(names, texts, ngram_range, form, max_table, characters_at_once):
    assume(any(name.strip() for name in names))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "MAX_TABLE", max_table)
        patch.setattr(ngram_index, "CHARACTERS_AT_ONCE", characters_at_once)
        index = build(
            [name for name in names if name.strip()], Path(folder), ngram_range=ngram_range, text_normalizer=form
        )
        check_products(index, [*texts, *names])


def test_more_characters_than_have_codes_of_their_own(tmp_path):
    """Some of 300 letters share a code in the postings, but not in the scores."""
    letters = [chr(code) for code in range(0x4E00, 0x4E00 + 300)]
    names = ["".join(letters[i : i + 4]) for i in range(0, 300, 2)]
    index = build(names, tmp_path, ngram_range=(1, 3))
    assert ngrams.MAX_TABLE < 301**3  # the binary search is used
    texts = [*names[::10], "".join(letters[10:80]), "".join(letters[::50])]
    check_products(index, texts)
    shares = np.array([[bool(_grams(text) & _grams(name)) for name in names] for text in texts])
    for result, row in zip(index.propose(index.encode(texts), 200, postings=EVERYTHING), shares, strict=True):
        assert set(np.flatnonzero(row)) <= set(result.tolist())


def test_similarities_are_the_same_cosines(index, small_kb):
    rows = np.array([5, 2, 30], dtype=np.int32)
    expected = cosines(index, TEXTS)
    np.testing.assert_allclose(index.similarities(TEXTS), expected, atol=2e-6)
    np.testing.assert_allclose(index.similarities(TEXTS, rows), expected[:, rows], atol=2e-6)
    rows[1] = 7  # in place: what is kept for the same rows must not be used
    np.testing.assert_allclose(index.similarities(TEXTS, rows), expected[:, rows], atol=2e-6)
    assert index.similarities(TEXTS, rows[:0]).shape == (len(TEXTS), 0)


# --- proposals


def _grams(form):
    padded = f"  {form}  "
    return {padded[i : i + 4] for i in range(len(padded) - 3)}


def _length(ngrams, name):
    """RETURNS: the length of the vector of a name before it is scaled to 1."""
    idf = dict(zip(ngrams.ngrams, ngrams.idf, strict=True))
    result = Counter(name[i : i + size] for size in ngrams.sizes for i in range(len(name) - size + 1))
    return np.sqrt(sum((n * idf.get(ngram, 0)) ** 2 for ngram, n in result.items()))


def common_weights(names, text):
    """RETURNS (dict[int, float]): the row of each name that shares a 4-gram with a text, and the sum of the weights."""
    of_names = [_grams(name) for name in names]
    counts = {gram: sum(gram in one for one in of_names) for gram in _grams(text)}
    weights = {gram: (np.log((1 + len(names)) / (1 + count)) + 1) ** 2 for gram, count in counts.items()}
    sums = {row: sum(weights[gram] for gram in one & _grams(text)) for row, one in enumerate(of_names)}
    return {row: weight for row, weight in sums.items() if weight}


def proposal_scores(names, text, ngrams):
    """RETURNS (dict[int, float]): the row of each name that shares a 4-gram with a text, and how it is ranked."""
    return {row: sum_ / max(_length(ngrams, names[row]), 1) for row, sum_ in common_weights(names, text).items()}


def folded(names):
    names = list(dict.fromkeys(" ".join(name.split()) for name in names if name.strip()))
    assume(names)
    return names


SOME_NAMES = st.lists(st.text("abc ", min_size=1, max_size=9), min_size=1, max_size=25)
SOME_TEXTS = st.lists(st.text("abcd ", max_size=9), min_size=1, max_size=6)


def check_proposals(rows, expected):
    """Compare proposals with those expected and their scores. Of names with equal scores, any may be proposed."""
    result = [row for row in rows.tolist() if row >= 0]
    assert len(set(result)) == len(result) == min(len(rows), len(expected))
    best = sorted(expected.values(), reverse=True)[: len(result)]
    np.testing.assert_allclose(sorted((expected[row] for row in result), reverse=True), best, rtol=1e-5)


@settings(max_examples=40)
@given(SOME_NAMES, SOME_TEXTS, st.integers(1, 30), st.sampled_from([1, 64, 2**21]))
def test_proposals_are_those_of_a_search_through_all_names(names, texts, n, cells):
    names = folded(names)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "CELLS", cells)
        index = build(names, Path(folder), text_normalizer="lower")
        assert list(index.kb.names()) == names
        queries = index.encode(texts)
        for form, rows in zip(queries.forms, index.propose(queries, n, postings=EVERYTHING), strict=True):
            check_proposals(rows, proposal_scores(names, form, index.ngrams))


@settings(max_examples=40)
@given(SOME_NAMES, SOME_TEXTS, st.integers(1, 30), st.sampled_from([0.123, 0.3, 0.789]))
def test_proposals_for_texts_together_are_the_names_that_share_enough(names, texts, n, share):
    names = folded(names)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "SHARE", share)
        index = build(names, Path(folder), text_normalizer="lower")
        forms = index.encode(texts).forms
        of_texts = index.postings.propose_together(forms, n, postings=EVERYTHING)
        for form, rows in zip(forms, of_texts, strict=True):
            shares = {
                row: sum_ / max(_length(index.ngrams, names[row]) ** 2, 1e-9)
                for row, sum_ in common_weights(names, form).items()
            }
            assume(all(abs(one - share) > 1e-4 for one in shares.values()))
            scores = proposal_scores(names, form, index.ngrams)
            check_proposals(rows, {row: score for row, score in scores.items() if shares[row] > share})


def test_a_text_gets_the_same_proposals_whatever_other_texts_there_are(index, small_kb):
    forms = index.encode([*TEXTS, "", "жж", *list(small_kb.names())[::3], *TEXTS]).forms
    for most in (30, 4000):
        alone = [index.postings.propose_together([form], 5, postings=most)[0] for form in forms]
        together = index.postings.propose_together(forms, 5, postings=most)
        assert (together >= 0).any(axis=1).sum() > len(forms) / 2
        np.testing.assert_array_equal(np.sort(together, axis=1), np.sort(alone, axis=1))
    assert index.postings.propose_together([], 5).shape == (0, 5)


def test_a_search_for_texts_together_finds_names_that_are_alike(index, small_kb):
    scores, rows = index.search(["breast cancers", "Seizures", "qqq"], 2, together=True)
    assert small_kb.name(int(rows[0, 0])) == "breast cancer"
    assert small_kb.name(int(rows[1, 0])) == "Seizures"
    assert scores[1, 0] == pytest.approx(1, abs=1e-5)
    assert rows[2].tolist() == [-1, -1]
    mask = filter_mask(small_kb, Filter(types=("Chemical",)))
    _, masked = index.search(list(small_kb.names()), 3, mask, together=True)
    assert (masked >= 0).any()
    assert set(masked[masked >= 0].tolist()) <= set(mask.rows.tolist())


def test_search_finds_the_most_similar_of_all_names_with_a_common_ngram(index, small_kb):
    expected = cosines(index, TEXTS)
    forms = list(index.ngrams.forms(small_kb.names()))
    scores, rows = index.search(TEXTS, small_kb.n_names)
    assert scores.shape == rows.shape == (len(TEXTS), small_kb.n_names)
    for text, of_text, result, all_scores in zip(index.encode(TEXTS).forms, scores, rows, expected, strict=True):
        shared = [row for row, form in enumerate(forms) if _grams(form) & _grams(text)]
        n = len(shared)
        assert sorted(result[:n].tolist()) == shared
        np.testing.assert_allclose(of_text[:n], all_scores[result[:n]], atol=2e-6)
        assert (np.diff(of_text[:n]) <= 0).all()
        assert (result[n:] == -1).all()
        assert (of_text[n:] == -1).all()


def test_texts_without_a_known_ngram(index):
    for texts in (["", "жж", "??"], []):
        assert (index.propose(index.encode(texts), 5) == -1).all()
        scores, rows = index.search(texts, 5)
        assert scores.shape == rows.shape == (len(texts), 5)
        assert (rows == -1).all()


def test_a_text_has_blanks_and_no_name_has_any(tmp_path):
    index = build(["cold", "fits"], tmp_path)
    assert index.propose(index.encode(["c cold"]), 1).tolist() == [[0]]
    assert index.propose(index.encode(["a t c x"]), 2).tolist() == [[-1, -1]]
    index = build(["a", "b"], tmp_path / "letters")
    assert index.propose(index.encode(["b x"]), 1).tolist() == [[1]]


@pytest.fixture
def words(tmp_path):
    """40 names share "word"; only the last one has "zzy"."""
    return build([*(f"{chr(97 + i % 20)}{i} word" for i in range(40)), "word zzy"], tmp_path)


@pytest.mark.parametrize(
    ("budget", "names", "result"),
    [
        (0, postings.NAMES, [40]),  # at least the rarest 4-gram is read
        (40, postings.NAMES, [40]),
        (70, postings.NAMES, list(range(41))),  # some 4-gram of "word" is read
        (EVERYTHING, postings.NAMES, list(range(41))),
        (40, 10, list(range(41))),  # it grows with the square root of the vocabulary
        (40, 40, [40]),
    ],
)
def test_the_rarest_ngrams_are_read_first(words, monkeypatch, budget, names, result):
    monkeypatch.setattr(postings, "NAMES", names)
    rows = words.propose(words.encode(["zzy word"]), 50, postings=budget)[0]
    assert sorted(rows[rows >= 0].tolist()) == result


def test_each_text_has_its_own_budget(words):
    texts = ["zzy word", "word", "zzy", "a0 word"] * 3
    alone = [words.propose(words.encode([text]), 7, postings=60)[0] for text in texts]
    np.testing.assert_array_equal(words.propose(words.encode(texts), 7, postings=60), alone)


def test_masks(index, small_kb):
    for filter in (Filter(types=("Chemical",)), Filter(sources=("HPO",)), Filter(types=("Plant",))):
        mask = filter_mask(small_kb, filter)
        everything = index.propose(index.encode(TEXTS), 99, postings=EVERYTHING)
        masked = index.propose(index.encode(TEXTS), 99, mask, postings=EVERYTHING)
        for some, others in zip(masked, everything, strict=True):
            assert set(some[some >= 0].tolist()) == set(others[others >= 0].tolist()) & set(mask.rows.tolist())
        scores, rows = index.search(TEXTS, 3, mask)
        assert set(rows[rows >= 0].tolist()) <= set(mask.rows.tolist())
        np.testing.assert_array_equal(rows >= 0, scores >= 0)


def test_more_texts_than_fit_into_16_bits(tmp_path):
    index = build(["abcd", "wxyz"], tmp_path)
    texts = ["abc", "xyz", "foo"] * 30_000
    rows = index.propose(index.encode(texts), 1)[:, 0].reshape(-1, 3)
    assert np.unique(rows, axis=0).tolist() == [[0, 1, -1]]


def test_searches_of_many_texts(index, small_kb, monkeypatch):
    texts = [*TEXTS, *small_kb.names()]
    expected = index.search(texts, 4)
    for owner, name, value in (
        (ngram_index, "TEXTS_PER_BATCH", 3),
        (postings, "CELLS", 1),
        (ngram_index, "CHARACTERS_AT_ONCE", 5),
    ):
        monkeypatch.setattr(owner, name, value)
        scores, rows = index.search(texts, 4)
        np.testing.assert_array_equal(rows, expected[1])
        np.testing.assert_allclose(scores, expected[0], atol=1e-6)


# --- threads, forks and interruptions


def test_threads(index):
    expected = index.search(TEXTS, 5)
    results = []

    def search():
        results.extend(index.search(TEXTS, 5) for _ in range(20))

    threads = [threading.Thread(target=search) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert len(results) == 80
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(("per_name", "read"), [(0, 2), (1000, 0)])
def test_an_interrupted_search_does_not_change_the_next_one(index, monkeypatch, per_name, read):
    class Interrupted:
        """Postings that are read a few times, and then no more."""

        reads = 0

        def __getitem__(self, positions):
            self.reads += 1
            if self.reads > read:
                raise KeyboardInterrupt
            return left[positions]

    queries, left = index.encode(TEXTS), index.postings._rows
    expected = index.propose(queries, 4)
    monkeypatch.setattr(postings, "PER_NAME", per_name)
    monkeypatch.setattr(index.postings, "_rows", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        index.propose(queries, 4)
    monkeypatch.undo()
    np.testing.assert_array_equal(index.propose(queries, 4), expected)


def test_many_texts_get_the_names_that_few_texts_get(index, monkeypatch):
    texts = [*TEXTS, "", "жж", *TEXTS]
    for n in (1, 3, 50):
        result = []
        for per_name in (0, 1000):
            monkeypatch.setattr(postings, "PER_NAME", per_name)
            result.append(np.sort(index.propose(index.encode(texts), n), axis=1))
        np.testing.assert_array_equal(*result)
        monkeypatch.setattr(postings, "MOST_NAMES", 1)  # always one by one
        np.testing.assert_array_equal(np.sort(index.propose(index.encode(texts), n), axis=1), result[0])
        monkeypatch.undo()
    monkeypatch.setattr(postings, "POSTINGS_AT_ONCE", 1)
    monkeypatch.setattr(postings, "POSTINGS", 1)
    index.propose(index.encode(texts), 3)  # only the rarest 4-gram of each text
    one_by_one = [index.propose(index.encode([text]), 3)[0] for text in texts]
    np.testing.assert_array_equal(np.sort(index.propose(index.encode(texts), 3), axis=1), np.sort(one_by_one, axis=1))


# --- built and saved


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_chunks_and_blocks_do_not_change_the_files(small_kb, small_folder, tmp_path, monkeypatch):
    expected = contents(small_folder)
    assert sorted(expected) == sorted(FILES)
    for names, chunks, most in ((7, 2, 2**25), (200_000, 9, 10), (1, 1, 1), (17, 1, 100)):
        monkeypatch.setattr(postings_build, "NAMES_PER_CHUNK", names)
        monkeypatch.setattr(postings_build, "CHUNKS_PER_FILE", chunks)
        monkeypatch.setattr(postings_build, "POSTINGS_PER_BLOCK", most)
        build_ngram_index(small_kb, NgramEncoder.fit(small_kb.names()), tmp_path / "index")
        assert contents(tmp_path / "index") == expected
        assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_saved_and_reopened(index, small_kb, tmp_path):
    expected = index.search(TEXTS, 5)
    for folder in (tmp_path / "new" / "one", tmp_path / "new" / "one", tmp_path / "two"):  # one is replaced
        index.artifact().write(folder)
        again = NgramIndex(folder, small_kb)
        assert again.fingerprint == index.fingerprint
        np.testing.assert_array_equal(again.search(TEXTS, 5), expected)
        assert contents(folder) == contents(index.folder)
        index = again
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_dir()) == ["new", "one", "two"]


def test_all_users_of_a_folder_share_the_index(small_kb, small_folder, copied):
    index = open_ngram_index(small_kb, "lower", saved=small_folder)
    assert open_ngram_index(small_kb, "lower", saved=small_folder) is index
    assert open_ngram_index(small_kb, "lower", saved=copied) is not index


def test_the_fingerprint_is_of_the_vocabulary_and_the_ngrams(index, small_kb, tmp_path):
    others = [build(["cold", "fits"], tmp_path)]
    for ngram_range in ((1, 2), (1, 3)):
        ngrams = NgramEncoder.fit(small_kb.names(), ngram_range=ngram_range)
        build_ngram_index(small_kb, ngrams, tmp_path / "other")
        others.append(NgramIndex(tmp_path / "other", small_kb))
    assert others[1].fingerprint == index.fingerprint
    assert len({one.fingerprint for one in (index, *others)}) == 3


@pytest.fixture
def builds(monkeypatch, tmp_path):
    """A file with one letter for each index that was built, in any process."""
    path = tmp_path / "builds"
    path.touch()

    def counting(*values):
        with path.open("a") as file:
            file.write("x")
        build_ngram_index(*values)

    monkeypatch.setattr(ngram_index, "build_ngram_index", counting)
    return path


def test_a_cached_index_is_built_once(own_cache, builds, small_kb):
    first = open_ngram_index(small_kb, "biosyn+greek")
    assert open_ngram_index(small_kb, "biosyn+greek") is first
    assert builds.read_text() == "x"
    assert open_ngram_index(small_kb, "lower").ngrams.text_normalizer == "lower"
    given = NgramEncoder.fit(["cold", "fits"])
    assert open_ngram_index(small_kb, "lower", given).ngrams.fingerprint == given.fingerprint
    assert builds.read_text() == "xxx"
    open_ngram_index(small_kb, "biosyn", given)  # the form of the encoder counts
    assert builds.read_text() == "xxx"


@pytest.mark.parametrize("change", [{"format": 0}, {"format": None}, {"kb": "other"}, {"ngrams": "other"}])
def test_another_version_or_vocabulary(copied, small_kb, change):
    manifest = json.loads((copied / MANIFEST_FILE).read_text())
    (copied / MANIFEST_FILE).write_text(json.dumps(manifest | change))
    with pytest.raises(SapbertError, match=r"\[E305\].*copied.*Delete the folder"):
        NgramIndex(copied, small_kb)


# --- a full disk


def is_full(*values, **named):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_nothing(small_kb, tmp_path, monkeypatch):
    ngrams = NgramEncoder.fit(small_kb.names())
    for owner, name in (
        (postings_build, "_write_points"),
        (postings_build, "_write_files"),
        (postings_build, "_save"),
        (postings_build, "_array_file"),
        (NgramEncoder, "save"),
        (Path, "rename"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, is_full)
            with pytest.raises(SapbertError, match=r"\[E507\].*index.*No space left"):
                build_ngram_index(small_kb, ngrams, tmp_path / "index")
        assert list(tmp_path.iterdir()) == []


@given(st.text("ab zж", max_size=12))
def test_a_text_alone_has_the_same_4_grams_as_beside_another(text):
    codes = postings_build.GramCodes.of("ba z")
    texts, grams = codes.grams(*code_points([text, "b"]))
    alone = codes.grams(*code_points([text]))
    assert (alone[0].tolist(), alone[1].tolist()) == (texts[texts == 0].tolist(), grams[texts == 0].tolist())
