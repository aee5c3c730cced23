"""Save encoders as assets of components."""

from __future__ import annotations

from ..store.assets import AssetWriter, fingerprint_of
from .folder import ENCODER_ASSET
from .transformer import ENCODER_FOLDER, TransformerEncoder


def save_encoder(encoder: TransformerEncoder, assets: AssetWriter, role: str = ENCODER_FOLDER) -> None:
    """Add the folder of an encoder to the assets of a component.

    Args:
        encoder: The encoder.
        assets: The assets.
        role: What the component uses the encoder for.
    """
    model = encoder.lexical_model
    lexical = (model.ngrams.fingerprint, model.sparse_weight, model.threshold) if model else None
    # equal vectors are not enough: the folder also records the training, and holds the lexical model
    fingerprint = fingerprint_of(encoder.fingerprint, encoder.dtype, encoder.trained, lexical)
    assets.add(role, ENCODER_ASSET, fingerprint, encoder.save)
