"""The network of a `typed_ner`: vectors of tokens, scores of tags, and the weights of transitions between tags."""

# no postponed annotations here: spaCy could not check the settings of a registered function

from collections.abc import Callable
from typing import Any, cast

from spacy.tokens import Doc
from thinc.api import Linear, Model, chain, concatenate, with_array, zero_init
from thinc.types import Floats2d, Floats3d

from .crf import N_TAGS

Network = Model[list[Doc], list[Floats2d]]

_TRANSITIONS = "transitions"


def typed_tagger(tok2vec: Network, members: int = 1) -> Network:
    """Score each tag of each label for each token, from the token's vector.

    Several members are networks of the same kind with their own weights. Each learns on its own, and their scores are
    averaged, which makes fewer errors than one network. They take as many times longer.

    Args:
        tok2vec: A layer that gives vectors of tokens, such as spacy.Tok2Vec.v2. It is copied for further members, so
            with a listener there can be one member only.
        members: The number of networks.

    Returns:
        A layer that gives one array per document, shape (tokens, members * labels * tags).
    """
    taggers: Any = [chain(each, with_array(Linear(init_W=zero_init))) for each in _copies(tok2vec, members)]
    transitions: Any = Model(_TRANSITIONS, _pass, init=_init, params={_TRANSITIONS: None}, dims={"nO": None})
    together: Any = concatenate(*taggers) if members > 1 else taggers[0]
    network: Any = chain(together, transitions)
    network.set_ref(_TRANSITIONS, transitions)
    for number, tagger in enumerate(taggers):
        network.set_ref(f"scores{number}", tagger.layers[-1].layers[0])
    network.attrs["members"] = members
    return cast(Network, network)


def _copies(tok2vec: Network, number: int) -> list[Network]:
    return [tok2vec, *(tok2vec.copy() for _ in range(number - 1))]


def members_of(network: Network) -> int:
    """Return the number of member networks."""
    return cast(int, network.attrs["members"])


def set_number_of_labels(network: Network, n_labels: int) -> None:
    """Set the number of labels before the network is initialized."""
    for number in range(members_of(network)):
        network.get_ref(f"scores{number}").set_dim("nO", n_labels * N_TAGS, force=True)
    network.get_ref(_TRANSITIONS).set_dim("nO", members_of(network) * n_labels * N_TAGS, force=True)


def is_initialized(network: Network) -> bool:
    """Return whether the network has weights."""
    return bool(network.get_ref(_TRANSITIONS).has_param(_TRANSITIONS))


def transitions_of(network: Network) -> Floats3d:
    """Return the scores of transitions, shape (members * labels, tags, tags)."""
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
