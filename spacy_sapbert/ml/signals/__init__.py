"""What speaks for a concept in a document, one kind of evidence a file."""
