"""Clinical notes: the flags of mentions by cues, and sections by headings. The cues and headings are data."""
