"""spaCy components that link biomedical text to the concepts of a vocabulary."""

import lazy_loader

__version__ = "1.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
