import json
import os
import pickle
import shutil
import tracemalloc
from collections import defaultdict

import numpy as np
import pytest
import spacy
import torch
import transformers
from scipy.sparse import csr_matrix, diags
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from spacy.tokens import Span
from spacy.training import Example
from thinc.api import Adam

from spacy_sapbert.encoders.biosyn_import import _ALLOWED, Inert, import_biosyn, read_vectorizer
from spacy_sapbert.encoders.compression import quantize
from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.encoders.folder import read_lexical_model
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking.storage import open_generator, with_mentions
from spacy_sapbert.pipeline.sapbert_linker import SapbertLinker
from spacy_sapbert.text.normalize import biosyn
from spacy_sapbert.training.losses import marginal_likelihood
from spacy_sapbert.training.settings import BioSyn
from spacy_sapbert.types import Document, Mention, Name, Record

MENTIONS = [
    "Breast Cancers", "gastric-cancer", "CF", "lithium", "colds", "zzz", "a carcinoma, of the breast", "Seizures",
]  # fmt: skip


@pytest.fixture(scope="module")
def imported(biosyn_model, tmp_path_factory):
    """The folder of the encoder that the published model becomes."""
    folder = tmp_path_factory.mktemp("imported") / "encoder"
    import_biosyn(biosyn_model.folder, folder)
    return folder


@pytest.fixture
def copied(biosyn_model, tmp_path):
    return shutil.copytree(biosyn_model.folder, tmp_path / "biosyn-tiny")


def refused(folder, match):
    with pytest.raises(SapbertError, match=match):
        import_biosyn(folder, folder.parent / "out")
    assert not (folder.parent / "out").exists()


# --- the same as theirs


def published_scores(model, texts, names):
    """Inner products of [CLS] vectors and of tf-idf vectors, as BioSyn's code computes them.

    RETURNS (tuple): both, each of shape (len(texts), len(names)).
    """
    encoder = transformers.AutoModel.from_pretrained(model.folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model.folder)

    def dense(some):
        options = {"padding": "max_length", "max_length": 25, "truncation": True, "return_tensors": "pt"}
        with torch.no_grad():
            return encoder(**tokenizer(some, **options))[0][:, 0].numpy()

    def sparse(some):
        return model.vectorizer.transform(some).toarray().astype(np.float32)

    return dense(texts) @ dense(names).T, sparse(texts) @ sparse(names).T


def test_the_candidates_are_those_of_the_published_model(float32, biosyn_model, imported, small_kb):
    names = list(small_kb.names())
    dense, sparse = published_scores(biosyn_model, list(map(biosyn, MENTIONS)), list(map(biosyn, names)))
    scores = dense + biosyn_model.weight * sparse
    encoder = open_encoder(str(imported), device="cpu")
    generator = open_generator(small_kb, encoder, sparse=True, compression="float32")
    assert np.ptp(np.linalg.norm(generator.vectors.vectors, axis=1)) > 0.01
    for text, own_dense, own_sparse, own in zip(MENTIONS, dense, sparse, scores, strict=True):
        best = defaultdict(lambda: -np.inf)
        for i, passes in enumerate(small_kb.matching_entries((), ())):
            concept = small_kb.concept_id(int(small_kb.name_concepts.concepts[i]))
            best[concept] = max(best[concept], own[small_kb.name_concepts.names[i]]) if passes else best[concept]
        result = generator([text], 99)[0]
        assert [best[c.concept_id] for c in result] == pytest.approx(sorted(best.values(), reverse=True), abs=1e-3)
        for candidate in result:
            row = names.index(candidate.name)
            assert candidate.dense == pytest.approx(own_dense[row], rel=1e-5, abs=1e-4)
            assert candidate.sparse == pytest.approx(own_sparse[row], abs=1e-5)
            assert own[row] == pytest.approx(best[candidate.concept_id], abs=1e-3)
            assert candidate.score <= 1


def test_what_the_folder_says(imported, biosyn_model):
    encoder = TransformerEncoder(str(imported), device="cpu")
    assert encoder.settings == {"pooling": "cls", "max_length": 25, "text_normalizer": "biosyn", "l2_normalized": False}
    assert encoder.lexical_model[1:] == (pytest.approx(1.7), 0)
    assert encoder.lexical_model.ngrams.ngrams == biosyn_model.vectorizer.get_feature_names_out().tolist()
    (step,) = encoder.trained["history"]
    assert encoder.trained["base"] == "biosyn-tiny"
    assert (step["step"], step["sparse_weight"]) == ("import biosyn", pytest.approx(1.7))


# --- what belongs to the encoder stays with it


def test_a_pipeline_takes_n_grams_and_weight_and_keeps_them(imported, biosyn_model, small_kb, tmp_path):
    nlp = spacy.blank("en")
    linker = nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": str(imported)})
    texts = ["breast cancers", "colds"]
    before = linker.linker.generator(texts, 5)
    ngrams = biosyn_model.vectorizer.get_feature_names_out().tolist()
    assert (linker.linker.sparse_weight, linker.linker.threshold) == (pytest.approx(1.7), 0)
    assert linker.linker.generator.ngram_encoder.ngrams == ngrams
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline").get_pipe("sapbert_linker")
    assert loaded.linker.generator(texts, 5) == before
    assert (loaded.linker.sparse_weight, loaded.linker.threshold) == (pytest.approx(1.7), 0)
    other = build_knowledge_base([Record("X", (Name("xylophone", "preferred", "s"),))], tmp_path / "other.kb")
    for component in (linker, loaded):
        component.set_kb(str(other.path))
        assert component.linker.generator.ngram_encoder.ngrams == ngrams
        assert component.linker.generator.sparse_weight == pytest.approx(1.7)
    unpickled = pickle.loads(pickle.dumps(loaded))
    assert unpickled.linker.generator.ngram_encoder.ngrams == ngrams


def test_mentions_that_join_the_vocabulary_do_not_change_them(imported, small_kb, tmp_path):
    generator = open_generator(small_kb, open_encoder(str(imported), device="cpu"), sparse=True)
    document = Document("1", "Xyz", (Mention(0, 3, "Xyz", "Disease", ("D003139",)),))
    joined = with_mentions(generator, [document], tmp_path)
    assert joined.kb.n_names == small_kb.n_names + 1
    assert joined.ngram_encoder.fingerprint == generator.ngram_encoder.fingerprint


def test_a_smaller_encoder_keeps_them(imported, tmp_path):
    encoder = TransformerEncoder(str(imported), device="cpu")
    quantize(encoder, "float16")
    encoder.save(tmp_path / "small")
    left = TransformerEncoder(str(tmp_path / "small"))
    assert left.lexical_model[1:] == encoder.lexical_model[1:]
    assert left.lexical_model.ngrams.fingerprint == encoder.lexical_model.ngrams.fingerprint
    encoder.save(tmp_path / "small")  # over itself


def test_they_are_not_taken_for_unit_vectors(imported, small_kb):
    encoder = TransformerEncoder(str(imported), l2_normalized=True, device="cpu")
    assert encoder.lexical_model is None
    assert open_generator(small_kb, encoder, sparse=True).sparse_weight == 0.2


def test_what_is_trained_further_goes_with_the_encoder(imported, small_kb, tmp_path):
    nlp = spacy.blank("en")
    training = BioSyn(marginal_likelihood, k=4, sparse_weight=1.7, temperature=1.0, score_learning_rate=0.1)
    linker = SapbertLinker(nlp, kb=str(small_kb.path), encoder=str(imported), training=training)
    doc = nlp.make_doc("breast cancers and colds")
    gold = doc.copy()
    gold.ents = [Span(gold, 0, 2, "Disease", kb_id="D001943"), Span(gold, 3, 4, "Disease", kb_id="D003139")]
    examples = [Example(doc, gold)]
    linker.initialize(lambda: examples, nlp=nlp)
    losses = linker.update(examples, sgd=Adam(1e-3))
    assert losses[linker.name] > 0
    assert linker.linker.sparse_weight != pytest.approx(1.7, abs=0.05)
    linker.to_disk(tmp_path / "linker")
    (folder,) = (tmp_path / "linker" / "shared").glob("encoder-*")
    saved = TransformerEncoder(str(folder), device="cpu")
    assert saved.l2_normalized is False
    assert saved.lexical_model[1:] == (pytest.approx(linker.linker.sparse_weight), 0)


def test_they_cannot_be_had_by_the_name_of_a_hub():
    assert read_lexical_model("someone/model", {}) is None
    with pytest.raises(SapbertError, match=r"E302.*someone/model.*download"):
        read_lexical_model("someone/model", {"ngrams": "ngrams"})


# --- other forms of the same


def test_a_folder_of_the_time_of_the_published_models(biosyn_model, copied):
    """Then the weights were a diagonal matrix, modules had other names, and torch wrote another format."""
    vectorizer = pickle.loads(pickle.dumps(biosyn_model.vectorizer))
    for setting in ("norm", "use_idf", "smooth_idf", "sublinear_tf"):
        delattr(vectorizer, setting)
    idf = biosyn_model.vectorizer.idf_
    vectorizer._tfidf = TfidfTransformer()
    vectorizer._tfidf._idf_diag = diags(idf, offsets=0, shape=(len(idf), len(idf)), format="csr")
    vectorizer.stop_words_ = set()
    content = pickle.dumps(vectorizer, protocol=3)
    content = content.replace(b"cscipy.sparse._csr\n", b"cscipy.sparse.csr\n").replace(b"numpy._core", b"numpy.core")
    assert b"cscipy.sparse.csr\ncsr_matrix\n" in content
    assert b"cnumpy.core.multiarray\n_reconstruct\n" in content
    (copied / "sparse_encoder.pk").write_bytes(content)
    torch.save(torch.tensor([0.25]), copied / "sparse_weight.pt", _use_new_zipfile_serialization=False)
    part = import_biosyn(copied, copied.parent / "out").lexical_model
    assert part.sparse_weight == 0.25
    np.testing.assert_array_equal(part.ngrams.idf, idf)
    expected = biosyn_model.vectorizer.transform(["breast colds"]).toarray()
    np.testing.assert_allclose(part.ngrams.encode(["Breast, colds!"]).toarray(), expected, atol=1e-6)


def test_safetensors_and_files_of_newer_tokenizers(biosyn_model, imported, copied, tmp_path):
    for part in (transformers.AutoModel, transformers.AutoTokenizer):
        part.from_pretrained(biosyn_model.folder).save_pretrained(copied)
    (copied / "pytorch_model.bin").unlink(missing_ok=True)  # transformers 5 does not write it
    assert (copied / "model.safetensors").is_file()
    assert (copied / "tokenizer_config.json").is_file()
    encoder = import_biosyn(copied, tmp_path / "out")
    assert encoder.fingerprint == TransformerEncoder(str(imported)).fingerprint


# --- what is refused


def test_no_folder_and_missing_files(tmp_path, copied):
    refused(tmp_path / "none", r"E344.*none.*the folder does not exist")
    for file in ("sparse_weight.pt", "sparse_encoder.pk", "config.json"):
        (copied / file).unlink()
        refused(copied, rf"E344.*{file} is missing")


class Hostile:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return __import__("os").system, (f"touch {self.marker}",)


def test_a_weight_that_would_run_something(copied, tmp_path):
    marker = tmp_path / "ran"
    torch.save(Hostile(marker), copied / "sparse_weight.pt")
    refused(copied, r"E344.*sparse_weight\.pt does not hold a number")
    assert not marker.exists()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *(
            (value, " does not hold a number")
            for value in ("text", {}, torch.tensor([1.0, 2.0]), torch.tensor([1j]), None)
        ),
        *((torch.nn.Parameter(torch.tensor([value])), f" is {value}") for value in (float("nan"), float("inf"), -0.5)),
    ],
)
def test_a_weight_that_cannot_be(copied, value, reason):
    torch.save(value, copied / "sparse_weight.pt")
    refused(copied, rf"E344.*sparse_weight\.pt{reason}")


def test_other_lengths_of_n_grams_are_taken(copied):
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(2, 3), lowercase=False).fit(["cold", "fits"])
    (copied / "sparse_encoder.pk").write_bytes(pickle.dumps(vectorizer))
    ngrams = import_biosyn(copied, copied.parent / "out").lexical_model.ngrams
    assert ngrams.ngram_range == (2, 3)
    np.testing.assert_allclose(ngrams.encode(["Cold"]).toarray(), vectorizer.transform(["cold"]).toarray(), atol=1e-6)


def shared_lists():
    """A small value that has 2 ** 100 parts when it is written out."""
    value = []
    for _ in range(100):
        value = [value, value]
    return value


def with_value(name, value):
    return lambda fitted: setattr(fitted, name, value)


def counted_otherwise(name, value):
    def damage(fitted):
        for part in (fitted, fitted._tfidf):
            setattr(part, name, value)

    return damage


def off_the_diagonal(fitted):
    n = len(fitted.vocabulary_)
    fitted._tfidf = TfidfTransformer()
    fitted._tfidf._idf_diag = diags(np.ones(n - 1), offsets=1, shape=(n, n), format="csr")


def not_fitted(fitted):
    fitted.__dict__ = TfidfVectorizer(analyzer="char").__dict__


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        *((damage, "is inconsistent") for damage in (
            lambda fitted: delattr(fitted, "vocabulary_"),
            lambda fitted: delattr(fitted._tfidf, "idf_"),
            lambda fitted: fitted.vocabulary_.update(c=99),
            lambda fitted: fitted.vocabulary_.update({b"q": len(fitted.vocabulary_)}),
            lambda fitted: fitted.vocabulary_.pop("c"),
            *(with_value("vocabulary_", value) for value in
              (["c"], [1, 2], shared_lists(), dict.fromkeys("ab", shared_lists()))),
            *(with_value("ngram_range", value) for value in ((shared_lists(), 1), 2, (1, 1))),
            lambda fitted: setattr(fitted._tfidf, "idf_", fitted._tfidf.idf_[:-1]),
            lambda fitted: setattr(fitted._tfidf, "idf_", fitted._tfidf.idf_ * np.nan),
            lambda fitted: setattr(fitted._tfidf, "idf_", [1.0]),
        )),
        # n-grams that are counted otherwise
        *((counted_otherwise(name, value), f"other weights than here.*{name}.*{value}") for name, value in (
            ("analyzer", "word"), ("analyzer", "char_wb"), ("norm", "l1"), ("norm", None), ("sublinear_tf", True),
            ("binary", True), ("strip_accents", "unicode"), ("use_idf", False),
        )),
        # a message does not write out what is shared
        (with_value("analyzer", shared_lists()), "other weights than here.*analyzer is a list"),
        (off_the_diagonal, "not diagonal"),
        (not_fitted, "not fitted"),
    ],
)  # fmt: skip
def test_a_vectorizer_that_cannot_be_used(biosyn_model, copied, damage, reason):
    vectorizer = pickle.loads(pickle.dumps(biosyn_model.vectorizer))
    damage(vectorizer)
    (copied / "sparse_encoder.pk").write_bytes(pickle.dumps(vectorizer))
    refused(copied, rf"E344.*{reason}")


def test_the_published_folder_is_not_written_over(copied):
    with pytest.raises(SapbertError, match=r"E507.*sparse_encoder\.pk"):
        import_biosyn(copied, copied)
    assert json.loads((copied / "config.json").read_text())["hidden_size"] == 32


# --- the pickle


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
        (Inert, r"spacy_sapbert\.encoders\.biosyn_import\.Inert"),
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
