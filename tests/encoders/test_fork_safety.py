import multiprocessing
import os

import numpy as np
import pytest
import torch

from spacy_sapbert.encoders.encoder import PARALLELISM, use_one_thread_after_fork
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.vectors.flat import NameVectors, build_name_vectors


@pytest.fixture
def threads():
    """Several threads for torch, whatever the other tests have."""
    import faiss

    before = torch.get_num_threads(), faiss.omp_get_max_threads()
    torch.set_num_threads(4)
    faiss.omp_set_num_threads(4)
    yield
    torch.set_num_threads(before[0])
    faiss.omp_set_num_threads(before[1])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.usefixtures("threads")
def test_a_forked_child_computes_after_its_parent_has(small_kb, tiny_encoder, tmp_path):
    encoder = TransformerEncoder(str(tiny_encoder), device="cpu")
    build_name_vectors(small_kb, encoder, tmp_path)
    vectors = NameVectors(tmp_path, small_kb, encoder)

    def compute():
        large = torch.ones(600, 600)  # large enough for several threads
        queries = np.repeat(vectors.encode(["a new text"]), 64, axis=0)
        return float((large @ large).sum()), encoder.encode(["more"]).tolist(), vectors.nearest(queries, 3)[1].tolist()

    expected = compute()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(compute()), daemon=True)
    child.start()
    try:
        assert receiver.poll(60), "the child hangs"
        assert receiver.recv() == expected
    finally:
        child.kill()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(("given", "expected"), [(None, "false"), ("true", "true")])
def test_tokenizers_in_a_forked_process(given, expected, monkeypatch):
    use_one_thread_after_fork()
    if given is None:
        monkeypatch.delenv(PARALLELISM, raising=False)
    else:
        monkeypatch.setenv(PARALLELISM, given)
    child = os.fork()
    if not child:
        os._exit(0 if os.environ[PARALLELISM] == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.environ.get(PARALLELISM) == given
