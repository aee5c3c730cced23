"""Vector indexes: the names nearest to a vector."""
