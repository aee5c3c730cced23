"""Documents in, links out: files, folders, tables and pages."""
