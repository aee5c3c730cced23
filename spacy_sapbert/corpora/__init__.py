"""Annotated corpora: files in, `AnnotatedDocument`s and spaCy `Doc`s out."""
