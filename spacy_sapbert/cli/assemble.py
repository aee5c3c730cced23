"""Define `spacy-sapbert assemble`, which saves a pipeline of a knowledge base, an encoder and the components."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import CannotWriteError, OptionError
from ..files.console import progress_callback, stderr_console
from ..files.output import refuse_input, replacing_folder
from ..kb.storage import load_knowledge_base
from ..pipeline.corrections import CorrectionsSetting
from ..pipeline.factories import ASSERTION, INSIDE, LINKER, MATCHER, RESOLVER, SECTIONS, SENTENCIZER
from ..review.corrections_database import open_corrections

if TYPE_CHECKING:
    from spacy.language import Language

    from ..kb.knowledge_base import KnowledgeBase

_LIMITS = (
    "A mention gets the id `NIL` if no concept of the vocabulary fits. Probabilities come from corpora of abstracts, "
    "unless they were fitted again. Measure on your own texts before you rely on links. This is not a medical device."
)
BOX, NO_NER = "box", "none"
"""Values of `--ner` beside a pipeline."""


def assemble(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pipeline.")],
    kb: Annotated[str | None, typer.Option(help="Knowledge base file, or 'starter'. Default: starter.")] = None,
    encoder: Annotated[
        str | None, typer.Option(help="Encoder: 'starter', a folder, a hub name, or 'none'. Default: starter.")
    ] = None,
    pooling: Annotated[str | None, typer.Option(help="'cls' or 'mean'. Default: the setting of the encoder.")] = None,
    index: Annotated[
        str | None,
        typer.Option(
            help="Vector index: 'auto', 'Flat', 'HNSW', 'IVF,PQ', … or the address of a database. Default: auto."
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="'inside' copies the vocabulary, 'external' keeps its path. Default: inside."),
    ] = None,
    ner: Annotated[
        str | None,
        typer.Option(
            help="What finds the mentions: a trained pipeline, 'box' for the NER in the package, or 'none' for the "
            "concept_matcher. Default: 'box' if it has all types of the vocabulary, else 'none'."
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", help="Existing pipeline with a linker. Its vocabulary changes to --kb, and all else stays."
        ),
    ] = None,
    assertion: Annotated[
        bool,
        typer.Option("--assertion", help="Flag negated, uncertain, family, historical and hypothetical mentions."),
    ] = False,
    notes: Annotated[
        bool,
        typer.Option(
            "--notes", help="For clinical notes: sections, short forms such as HTN, and the flags of --assertion."
        ),
    ] = False,
    lang: Annotated[str, typer.Option(help="Language of a new pipeline, such as en.")] = "en",
    corrections: Annotated[
        str | None,
        typer.Option(
            help="File or PostgreSQL address of corrections, see `review`. The pipeline holds and obeys them."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the pipeline, for `spacy package`. Default for a new pipeline: linker.")
    ] = None,
) -> None:
    """Create a linking pipeline from a vocabulary and an encoder, and save it.

    The folder contains everything that the pipeline needs, unless the storage is external. Load it with
    `spacy.load(FOLDER)`.
    """
    if from_ and (ner or encoder or pooling or index or storage or notes):
        raise OptionError(option="--from", reason="it keeps the components, the encoder, the index and the storage")
    if from_ and not (kb or corrections):
        raise OptionError(option="--from", reason="it needs --kb, the new vocabulary, or --corrections")
    # --from can be changed in its place
    refuse_input(output, [corrections, kb, encoder, ner])
    from ..vectors.flat import encoding_progress

    load_knowledge_base(kb or "starter")  # a wrong path must not wait for an encoder
    if corrections:
        open_corrections(corrections)
    with progress_callback(stderr_console(), "names") as progress, encoding_progress(progress):
        if from_:
            nlp = _changed(from_, kb)
        else:
            linker = {"encoder": encoder or "starter", "index": index or "auto", "vectors": {"pooling": pooling}}
            nlp = new_pipeline(kb or "starter", linker, storage or INSIDE, ner, lang, clinical=notes)
        if assertion or notes:
            _add_assertion(nlp)
        components: list[tuple[str, Any]] = nlp.pipeline if corrections else []
        for _, component in components:
            if hasattr(component, "set_corrections"):
                component.set_corrections(str(corrections))
                CorrectionsSetting(str(corrections)).decisions(component.kb)  # warns of concepts that it lacks
        if name or not from_:
            nlp.meta["name"] = name or "linker"
        save_pipeline(nlp, output)
    typer.echo(f"{output}: {', '.join(nlp.pipe_names)}", err=True)


def new_pipeline(
    kb: str,
    linker: Mapping[str, Any] = MappingProxyType({}),
    storage: str = INSIDE,
    ner: str | None = None,
    lang: str = "en",
    *,
    clinical: bool = False,
) -> Language:
    """Create a pipeline for a knowledge base. `linker` has other settings of the linker."""
    import spacy

    from ..pipeline.box import types_of_labels
    from ..pipeline.component_settings import settings_of
    from ..runs.pipelines import load_pipeline
    from ..text.languages import ENGLISH

    types = load_knowledge_base(kb).type_counts()
    label_types = types_of_labels(types)
    if ner is None:
        has_all = 0 < sum(map(len, label_types.values())) == len(types)
        ner = BOX if has_all and lang == ENGLISH.code and not clinical else NO_NER
    if ner == BOX:
        if lang != ENGLISH.code:
            raise OptionError(option="--lang", reason="the NER in the package reads English only")
        nlp, linker = _box_ner(label_types, storage), {"label_types": label_types, **linker}
    else:
        nlp = spacy.blank(lang) if ner == NO_NER else load_pipeline(ner)
    if LINKER in nlp.pipe_names:
        reason = f"the pipeline has a {LINKER} already; --from changes the vocabulary of such a pipeline"
        raise OptionError(option="--ner", reason=reason)
    if clinical:
        _add(nlp, SECTIONS)
    short_forms = clinical and nlp.lang == ENGLISH.code
    if RESOLVER not in nlp.pipe_names:
        nlp.add_pipe(RESOLVER, config={"clinical": short_forms})
    elif short_forms:
        nlp.replace_pipe(RESOLVER, RESOLVER, config={**settings_of(nlp.get_pipe(RESOLVER)), "clinical": True})
    vocabulary = {"kb": kb, "storage": storage}
    if ner == NO_NER:
        nlp.add_pipe(MATCHER, config=vocabulary)
    _add(nlp, "composite_splitter")
    nlp.add_pipe(LINKER, config={**vocabulary, **linker})
    return nlp


def _box_ner(labels: Iterable[str], storage: str) -> Language:
    """Return the NER in the package, for mentions with these labels."""
    from ..pipeline.box import ADDED, NER, load

    settings = {NER: {"only_labels": list(labels)}, MATCHER: {"storage": storage}}
    nlp = load(exclude=ADDED, config={"components": settings})
    nlp.meta.update(dict.fromkeys(("author", "url", "description"), ""))  # of the pipeline in the package
    return nlp


def _add(nlp: Language, name: str) -> None:
    """Add a component, unless the NER's pipeline already has it, in a place that it may depend on."""
    if name not in nlp.pipe_names:
        nlp.add_pipe(name)


def _add_assertion(nlp: Language) -> None:
    """Add the component for the flags of mentions, and one for sentences if the pipeline has none."""
    metas = map(nlp.get_pipe_meta, nlp.pipe_names)
    if not any({"token.is_sent_start", "doc.sents"}.intersection(meta.assigns) for meta in metas):
        _add(nlp, SENTENCIZER)
    _add(nlp, ASSERTION)


def _changed(pipeline: str, kb: str | None) -> Language:
    """Return a saved pipeline, with another vocabulary if one is given."""
    from ..runs.pipelines import load_pipeline

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
    from thinc.api import Model

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


def _source(kb: KnowledgeBase) -> dict[str, str]:
    """Return what spaCy shows of a vocabulary, and what tells it from other sources."""
    about, license = kb.meta.get("catalog", {}), kb.meta.get("licence", "")
    release = f"{about.get('title') or ', '.join(kb.source_counts())} {kb.meta.get('release', '')}".strip()
    name = f"{release}: {len(kb):,} concepts, {kb.n_names:,} names" + (f". License: {license}" if license else "")
    return {"name": name, "url": about.get("home", ""), "license": license, "fingerprint": kb.fingerprint}
