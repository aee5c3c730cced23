"""What a notebook shows of an object names its class, its settings and its size, and no address in memory."""

import spacy

from spacy_sapbert.linking.name_matcher import NameMatcher


def test_objects_that_users_meet_are_readable(small_kb, linking_folder):
    nlp = spacy.load(linking_folder)
    linker = nlp.get_pipe("sapbert_linker").linker
    things = [
        *(nlp.get_pipe(name) for name in nlp.pipe_names if "sapbert" in type(nlp.get_pipe(name)).__module__),
        *(linker, linker.generator, linker.generator.ngrams, linker.generator.ngram_encoder),
        *(small_kb, NameMatcher.build(small_kb)),
    ]
    shown = [repr(thing) for thing in things]
    assert all(text.startswith(f"{type(thing).__name__}(") for thing, text in zip(things, shown, strict=True))
    assert " at 0x" not in "".join(shown)
    assert f"{small_kb.n_names:,} names" in shown[-1]
