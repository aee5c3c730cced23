"""Training documents without annotators: search, rule-based annotation, filters (Shao et al. 2024)."""
