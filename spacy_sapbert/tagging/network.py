"""The network of a `typed_ner`: vectors of tokens, scores of tags, and the weights of transitions between tags."""

# no postponed annotations here: spaCy could not check the settings of a registered function

from collections.abc import Callable
from typing import Any, cast

from spacy.tokens import Doc
from thinc.api import Linear, Model, chain, with_array, zero_init
from thinc.types import Floats2d, Floats3d

from .crf import N_TAGS

Network = Model[list[Doc], list[Floats2d]]

_SCORES = "scores"
_TRANSITIONS = "transitions"


def typed_tagger(tok2vec: Network) -> Network:
    """Score each tag of each label for each token, from the token's vector.

    Args:
        tok2vec: A layer that gives vectors of tokens, such as spacy.Tok2Vec.v2 or a listener.

    Returns:
        A layer that gives one array per document, shape (tokens, labels * tags).
    """
    scores: Any = Linear(init_W=zero_init)
    transitions: Any = Model(_TRANSITIONS, _pass, init=_init, params={_TRANSITIONS: None}, dims={"nO": None})
    network: Any = chain(tok2vec, with_array(scores), transitions)
    network.set_ref(_SCORES, scores)
    network.set_ref(_TRANSITIONS, transitions)
    return cast(Network, network)


def set_number_of_labels(network: Network, n_labels: int) -> None:
    """Set the number of labels before the network is initialized."""
    for name in (_SCORES, _TRANSITIONS):
        network.get_ref(name).set_dim("nO", n_labels * N_TAGS, force=True)


def transitions_of(network: Network) -> Floats3d:
    """Return the scores of transitions, shape (labels, tags, tags)."""
    return cast(Floats3d, network.get_ref(_TRANSITIONS).get_param(_TRANSITIONS))


def add_transition_gradient(network: Network, gradient: Floats3d) -> None:
    """Add to the gradient of the transitions, in the shape of `transitions_of`."""
    network.get_ref(_TRANSITIONS).inc_grad(_TRANSITIONS, gradient)


def _init(model: Model, X: Any = None, Y: Any = None) -> None:
    shape = model.get_dim("nO") // N_TAGS, N_TAGS, N_TAGS
    model.set_param(_TRANSITIONS, model.ops.alloc3f(*shape))


def _pass(model: Model, scores: Any, is_train: bool) -> tuple[Any, Callable[[Any], Any]]:
    """Return the scores as they are: the layer only holds parameters, so that they are saved and trained."""
    return scores, lambda gradient: gradient
