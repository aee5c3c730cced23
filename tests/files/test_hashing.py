from spacy_sapbert.files.hashing import hash64


def test_the_hash_is_the_same_everywhere():
    """The value was taken with another program: `printf breast | b2sum -l 64`, its bytes from last to first."""
    assert hash64("breast") == 0xA2F74AD632408F23
    assert 0 <= hash64("") < 2**64


def test_texts_have_hashes_of_their_own():
    texts = [f"{i}" for i in range(10_000)] + ["Σ", "σ", "a", "a ", "a\0"]
    assert len({hash64(text) for text in texts}) == len(texts)
