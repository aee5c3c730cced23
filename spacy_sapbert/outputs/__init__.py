"""Read documents and write links: files, folders, tables and HTML pages."""
