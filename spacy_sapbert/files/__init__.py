"""Files: open them, write them completely or not at all, parse their values and report their problems."""
