"""Annotated corpora: read files as `Document`s and convert them to spaCy `Doc`s."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
