"""The same commands under `python -m spacy sapbert`; spaCy imports this where it looks for commands of plugins."""

from spacy.cli._util import app as spacy_app

from . import app

spacy_app.add_typer(app, name="sapbert")
