"""The pipelines in the package: `spacy.load("spacy_sapbert")`, and `spacy_sapbert.load("notes")`."""

from typing import Any, Dict, Iterable, List, Union

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.vocab import Vocab
from thinc.api import Model, NumpyOps

from ..errors import ChoiceError
from ..kb.semantic_types import find_types
from ..kb.storage import CLINICAL
from ..starter import BOX

ABSTRACTS, NOTES = "abstracts", "notes"
"""The names of the pipelines in the package."""
NER = "ner"
LABELS = ("Disease", "Chemical", "Gene", "Species", "CellLine")
ADDED = ("composite_splitter", "sapbert_linker", "gene_species")
"""The components behind the NER. They belong to its vocabulary."""
_OTHER_TYPES = {"SYMPTOM": "Disease", "DRUG": "Chemical"}
_GROUPS = {"Disease": "DISO", "Chemical": "CHEM", "Gene": "GENE", "Species": "LIVB"}
"""The semantic group of UMLS for labels of the NER."""


def load(
    name: str = ABSTRACTS,
    *,
    vocab: Union[Vocab, bool] = True,
    disable: Union[str, Iterable[str]] = (),
    enable: Union[str, Iterable[str]] = (),
    exclude: Union[str, Iterable[str]] = (),
    config: Dict[str, Any] = {},
) -> Language:
    """Load a pipeline in the package. `spacy.load("spacy_sapbert")` calls it, with the same arguments.

    It needs no network. The first text takes about five seconds more on a new machine: the index of the vocabulary is
    made once. "notes" also makes its vocabulary, and takes about half a minute of one core.

    Args:
        name: "abstracts" finds diseases, chemicals, genes, species and cell lines, and links them to the starter
            vocabulary. "notes" is for clinical notes: the pipeline that `assemble --notes` saves, with sections, flags
            and short forms.
        vocab: A vocabulary of strings. True makes one.
        disable: Components that are loaded, but do not run.
        enable: The only components that run.
        exclude: Components that are not loaded.
        config: Settings that replace those of the pipeline.

    Raises:
        ChoiceError: There is no pipeline of this name.
    """
    choices = {"vocab": vocab, "disable": disable, "enable": enable, "exclude": exclude}
    if name == NOTES:
        from .assemble import new_pipeline  # which needs this module

        return read_box(new_pipeline(CLINICAL, clinical=True).config.to_str(), config, **choices)
    if name != ABSTRACTS:
        raise ChoiceError(given=name, what="pipeline in the package", choices=(ABSTRACTS, NOTES))
    nlp = read_box(config_of_box(), config, **choices)
    if NER in nlp.component_names:
        ner: Any = nlp.get_pipe(NER)
        ner.warns_of_notes = True
    return nlp


def config_of_box() -> str:
    return (BOX / "config.cfg").read_text(encoding="utf-8")


def read_box(settings: str, config: Dict[str, Any], **choices: Any) -> Language:
    """Make a pipeline with the NER and the tokenizer in the package.

    Args:
        settings: The config of the pipeline, as text.
        config: Settings that replace those of the pipeline.
        **choices: See `load`.
    """
    own = util.load_config_from_str(settings, overrides=util.dict_to_dot(config, for_overrides=True))
    meta = util.get_model_meta(BOX.parents[1])  # where spaCy looks for the one of a package
    nlp = util.load_model_from_config(own, meta=meta, **choices)
    # the other components have no files: their vocabulary and encoder are those of the package
    nlp.from_disk(BOX, exclude=[name for name in nlp.component_names if name != NER])
    if NER in nlp.component_names:
        ner: Any = nlp.get_pipe(NER)
        multiply_with_numpy(ner.model)
    return nlp


class NumpyProducts(NumpyOps):
    """Multiplies matrices with NumPy. Its library is about three times as fast as that of thinc, on one core, too."""

    def gemm(self, x: Any, y: Any, out: Any = None, trans1: bool = False, trans2: bool = False) -> Any:
        """Return the product of two matrices, of which each may be transposed."""
        return np.matmul(x.T if trans1 else x, y.T if trans2 else y, out=out)


def multiply_with_numpy(model: "Model[Any, Any]") -> None:
    """Let the layers of a network that are on the CPU use NumPy for products of matrices."""
    for layer in model.walk():
        if type(layer.ops) is NumpyOps:
            layer.ops = NumpyProducts()


def types_of_labels(types: Iterable[str]) -> Dict[str, List[str]]:
    """Return the types of a vocabulary by the label of the NER that they fit: the same word, or a type of UMLS."""
    labels = {tui: label for label, group in _GROUPS.items() for tui in find_types(groups=[group])}
    labels.update((label.upper(), label) for label in LABELS)
    labels.update(_OTHER_TYPES)
    fitting: Dict[str, List[str]] = {}
    for type_ in types:
        if type_.upper() in labels:
            fitting.setdefault(labels[type_.upper()], []).append(type_)
    return fitting
