"""The demo page of a pipeline, and the server that gives it."""
