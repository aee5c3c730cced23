"""Compute measures from gold annotations and predictions. Nothing here opens a file or runs a pipeline."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
