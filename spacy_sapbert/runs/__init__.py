"""Whole runs: link files or a corpus, in processes of this machine, on Ray and on Spark; and build a vocabulary."""
