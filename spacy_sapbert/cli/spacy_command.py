"""Register the commands as `python -m spacy sapbert`. spaCy imports this module to find the commands of plugins."""

from spacy.cli._util import app as spacy_app

from . import app

spacy_app.add_typer(app, name="sapbert")
