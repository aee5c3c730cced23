"""Names to vectors, near vectors, and the candidates they give."""
