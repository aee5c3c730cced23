"""Run the command line with `python -m spacy_sapbert`."""

from .cli import main

main()
