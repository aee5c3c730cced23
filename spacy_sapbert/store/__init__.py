"""Saved parts: assets of pipelines, the cache folder, and objects that a process shares."""
