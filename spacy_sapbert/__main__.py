"""The commands as `python -m spacy_sapbert`, and as `python -m spacy sapbert`: for that, spaCy imports this module."""

from .cli import app, main

if __name__ == "__main__":
    main()
elif __name__ == "spacy_sapbert.__main__":  # not in a process that another one spawned
    from spacy.cli._util import app as spacy_app

    spacy_app.add_typer(app, name="sapbert")
