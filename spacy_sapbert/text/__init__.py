"""Pure functions on strings: normalization, abbreviations, composite mentions, spelling."""
