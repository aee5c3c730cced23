"""Assemble linking pipelines from a vocabulary, an encoder and components, and save pipelines."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import spacy
from spacy.language import Language
from thinc.api import Model

from ..errors import CannotWriteError, OptionError
from ..files.console import progress_callback, stderr_console
from ..files.output import refuse_input, replacing_folder
from ..kb.storage import CLINICAL, STARTER, load_knowledge_base
from ..review.corrections_file import open_corrections
from ..text.languages import ENGLISH
from ..vectors.flat import encoding_progress
from .box import ADDED, NER, config_of_box, read_box, types_of_labels
from .component_settings import settings_of
from .corrections import read_decisions
from .factories import ASSERTION, INSIDE, LINKER, MATCHER, RESOLVER, SECTIONS, SENTENCIZER
from .tokenizer import load_pipeline

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase

_LIMITS = (
    "A mention gets the id `NIL` if no concept of the vocabulary fits. Probabilities come from corpora of abstracts, "
    "unless they were fitted again. Measure on your own texts before you rely on links. This is not a medical device."
)
BOX, NO_NER = "box", "none"
"""Values of `ner` beside a pipeline."""
FINDER = "name_finder"
"""The `concept_matcher` before the NER of a pipeline for notes."""
CELL_LINE = "CellLine"  # in a note, "T2" and "DM" are not one
NOTE_LABELS = ("Disease", "Chemical")
"""What the NER finds in notes. It was trained on abstracts, and takes "patient", "knee" or a surname for others."""
NESTED = "nested"
"""The span group with all mentions of a pipeline that also marks names inside longer ones."""


def assemble(
    output: str | Path,
    kb: str | None = None,
    *,
    encoder: str | None = None,
    pooling: str | None = None,
    index: str | None = None,
    storage: str | None = None,
    ner: str | None = None,
    old: str | None = None,
    assertion: bool = False,
    notes: bool = False,
    nested: bool = False,
    lang: str = "en",
    corrections: str | None = None,
    name: str | None = None,
) -> Language:
    """Create a linking pipeline, or change a saved one, and save it, as `spacy-sapbert assemble` does.

    Args:
        output: The folder for the pipeline. It may be that of `old`.
        kb: A knowledge base file, "starter", or "clinical", which is the default of English notes. Default: starter.
        encoder: "starter", a folder, a hub name, or "none". Default: starter.
        pooling: "cls" or "mean". Default: the setting of the encoder.
        index: The vector index, see `SapbertLinker`. Default: auto.
        storage: "inside" copies the vocabulary, "external" keeps its path. Default: inside.
        ner: What finds the mentions: a trained pipeline, "box" for the NER in the package, or "none" for the
            `concept_matcher`. Default: "box" if it has all types of the vocabulary, else "none".
        old: A saved pipeline. Its vocabulary changes to `kb`, and all else stays.
        assertion: Flag negated, uncertain, family, historical and hypothetical mentions.
        notes: For clinical notes: sections, short forms, and the flags of `assertion`. The NER in the package then only
            adds to the names of the vocabulary. `spacy_sapbert.load("notes")` makes the same pipeline.
        nested: Also link names inside longer ones. `doc.spans["nested"]` has all, `doc.ents` the longest.
        lang: The language of a new pipeline.
        corrections: A file or an address of corrections. The pipeline holds and obeys them.
        name: The name of the pipeline. Default for a new one: linker.

    Raises:
        SapbertError: The arguments do not fit together, or something cannot be read or written.
    """
    output = Path(output)
    if old:
        _check_change((ner, encoder, pooling, index, storage, notes, nested), (kb, corrections))
    elif nested and ner not in (None, NO_NER):
        raise OptionError(option="--nested", reason="only the concept_matcher, --ner none, finds names inside others")
    # an old pipeline can be changed in its place
    refuse_input(output, [corrections, kb, encoder, ner])
    named = kb or (CLINICAL if notes and lang == ENGLISH.code else STARTER)
    load_knowledge_base(named)  # a wrong path must not wait for an encoder
    if corrections:
        open_corrections(corrections)
    with progress_callback(stderr_console(), "names") as progress, encoding_progress(progress):
        if old:
            nlp = _changed(old, kb)
        else:
            linker = {"encoder": encoder or "starter", "index": index or "auto", "vectors": {"pooling": pooling}}
            nlp = new_pipeline(named, linker, storage or INSIDE, ner, lang, clinical=notes, nested=nested)
        if assertion and not notes:
            _add_assertion(nlp)
        if corrections:
            _obey(nlp, corrections)
        if name or not old:
            nlp.meta["name"] = name or "linker"
        save_pipeline(nlp, output)
    return nlp


def _check_change(of_new: Iterable[object], changes: Iterable[object]) -> None:
    """Check what is given to change a saved pipeline: what only a new one can have, and what can change."""
    if any(of_new):
        raise OptionError(option="--from", reason="it keeps the components, the encoder, the index and the storage")
    if not any(changes):
        raise OptionError(option="--from", reason="it needs --kb, the new vocabulary, or --corrections")


def new_pipeline(
    kb: str,
    linker: Mapping[str, Any] = MappingProxyType({}),
    storage: str = INSIDE,
    ner: str | None = None,
    lang: str = "en",
    *,
    clinical: bool = False,
    nested: bool = False,
) -> Language:
    """Create a pipeline for a knowledge base. `linker` has other settings of the linker."""
    place = {"spans_key": NESTED} if nested else {}
    types = load_knowledge_base(kb).type_counts()
    label_types = types_of_labels(types)
    wanted = list(filter(NOTE_LABELS.__contains__, label_types) if clinical else label_types)
    if ner is None:
        has_all = bool(wanted) and sum(map(len, label_types.values())) == len(types)
        ner = BOX if has_all and lang == ENGLISH.code and not nested else NO_NER
    if ner == BOX:
        if lang != ENGLISH.code:
            raise OptionError(option="--lang", reason="the NER in the package reads English only")
        if clinical and not wanted:
            raise OptionError(option="--ner", reason="in notes, it only finds diseases and chemicals")
        nlp, linker = _box_ner(wanted, storage, kb), {"label_types": label_types, **linker}
    else:
        nlp = spacy.blank(lang) if ner == NO_NER else load_pipeline(ner)
    if LINKER in nlp.pipe_names:
        reason = f"the pipeline has a {LINKER} already; --from changes the vocabulary of such a pipeline"
        raise OptionError(option="--ner", reason=reason)
    vocabulary = {"kb": kb, "storage": storage}
    if clinical and ner == BOX:  # names first: what the NER finds around them is often a word too long
        kinds = chain.from_iterable({**label_types, CELL_LINE: ()}.values())
        nlp.add_pipe(MATCHER, FINDER, before=NER, config={**vocabulary, "types": list(kinds)})
    if clinical:
        _add(nlp, SECTIONS)
    _add_resolver(nlp, clinical and nlp.lang == ENGLISH.code)
    if ner == NO_NER:
        nlp.add_pipe(MATCHER, config={**vocabulary, **place, "nested": nested})
    _add(nlp, "composite_splitter", place)
    nlp.add_pipe(LINKER, config={**vocabulary, **place, **linker})
    if clinical:
        _add_assertion(nlp)
    return nlp


def _box_ner(labels: Iterable[str], storage: str, kb: str) -> Language:
    """Return the NER in the package, for mentions with these labels."""
    names = kb if kb == CLINICAL else STARTER  # both have the names that it was trained with
    settings = {NER: {"only_labels": list(labels)}, MATCHER: {"storage": storage, "kb": names}}
    nlp = read_box(config_of_box(), {"components": settings}, exclude=ADDED)
    nlp.meta.update(dict.fromkeys(("author", "url", "description"), ""))  # of the pipeline in the package
    return nlp


def _add(nlp: Language, name: str, settings: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Add a component, unless the NER's pipeline already has it, in a place that it may depend on."""
    if name not in nlp.pipe_names:
        nlp.add_pipe(name, config=dict(settings))


def _add_resolver(nlp: Language, short_forms: bool) -> None:
    """Add the component for abbreviations, also for short forms of notes that no text defines."""
    if RESOLVER not in nlp.pipe_names:
        nlp.add_pipe(RESOLVER, config={"clinical": short_forms})
    elif short_forms:
        nlp.replace_pipe(RESOLVER, RESOLVER, config={**settings_of(nlp.get_pipe(RESOLVER)), "clinical": True})


def _add_assertion(nlp: Language) -> None:
    """Add the component for the flags of mentions, and one for sentences if the pipeline has none."""
    metas = map(nlp.get_pipe_meta, nlp.pipe_names)
    if not any({"token.is_sent_start", "doc.sents"}.intersection(meta.assigns) for meta in metas):
        _add(nlp, SENTENCIZER)
    linkers = (component for name, component in nlp.pipeline if nlp.get_pipe_meta(name).factory == LINKER)
    _add(nlp, ASSERTION, {"spans_key": next((getattr(linker, "spans_key", None) for linker in linkers), None)})


def _obey(nlp: Language, corrections: str) -> None:
    """Let all components obey corrections."""
    components: list[tuple[str, Any]] = nlp.pipeline
    for _, component in components:
        if hasattr(component, "set_corrections"):
            component.set_corrections(corrections)
            read_decisions(corrections, component.kb)  # warns of concepts that it lacks


def _changed(pipeline: str, kb: str | None) -> Language:
    """Return a saved pipeline, with another vocabulary if one is given."""
    nlp = load_pipeline(pipeline)
    learned = _keys_of_features(nlp)  # an NER knows only the names that it was trained with
    ours = [
        component
        for _, component in nlp.pipeline
        if hasattr(component, "set_kb") and getattr(component, "spans_key", None) not in learned
    ]
    if not ours:
        raise OptionError(option="--from", reason=f"{pipeline} has no component with a vocabulary")
    if kb:
        label_types = chain.from_iterable(getattr(component, "label_types", {}).values() for component in ours)
        lacking = set(chain.from_iterable(label_types)).difference(load_knowledge_base(kb).type_counts())
        if lacking:
            reason = f"its linker needs the types {', '.join(sorted(lacking))}, which {kb} lacks"
            ner = BOX if pipeline == "spacy_sapbert" else "NER"
            raise OptionError(f"Make a new pipeline instead: --kb {kb} --ner {ner}", option="--from", reason=reason)
    for component in ours if kb else ():
        component.set_kb(kb)
    return nlp


def _keys_of_features(nlp: Language) -> set[str]:
    """Return the span groups whose names are features of a network."""
    models = (getattr(component, "model", None) for _, component in nlp.pipeline)
    nodes = (node for model in models if isinstance(model, Model) for node in model.walk())
    return {node.attrs["spans_key"] for node in nodes if "spans_key" in node.attrs}


def check_output(output: Path) -> None:
    """Check that the folder is a pipeline, or does not exist."""
    if output.exists() and not (output / "meta.json").is_file():
        reason = "it already exists and is not a pipeline"
        raise CannotWriteError(path=output.absolute(), reason=reason, remedy="Choose another folder.")


def save_pipeline(nlp: Language, output: Path) -> None:
    """Save a pipeline through a temporary folder and a rename.

    An interrupted save therefore leaves no half pipeline, and an old pipeline is replaced only at the end.
    """
    check_output(output)
    describe(nlp)
    output = output.absolute()
    try:
        with replacing_folder(output) as new:
            nlp.to_disk(new)
    except OSError as error:
        raise CannotWriteError(path=output, reason=error) from error


def describe(nlp: Language) -> None:
    """Write vocabularies and limits into the meta, from which spaCy makes the card of a package."""
    components: list[tuple[str, Any]] = nlp.pipeline
    kbs = {component.kb.fingerprint: component.kb for _, component in components if hasattr(component, "set_kb")}
    vocabularies = list(map(_source, kbs.values()))
    others = [source for source in nlp.meta.get("sources") or () if "fingerprint" not in source]
    names = "; ".join(source["name"] for source in vocabularies)
    texts = {"description": f"Links mentions to concepts. Vocabulary: {names}", "notes": _LIMITS}
    nlp.meta.update({key: nlp.meta.get(key) or text for key, text in texts.items()}, sources=[*others, *vocabularies])


def _source(kb: "KnowledgeBase") -> dict[str, str]:
    """Return what spaCy shows of a vocabulary, and what tells it from other sources."""
    about, license = kb.meta.get("catalog", {}), kb.meta.get("licence", "")
    release = f"{about.get('title') or ', '.join(kb.source_counts())} {kb.meta.get('release', '')}".strip()
    name = f"{release}: {len(kb):,} concepts, {kb.n_names:,} names" + (f". License: {license}" if license else "")
    return {"name": name, "url": about.get("home", ""), "license": license, "fingerprint": kb.fingerprint}
