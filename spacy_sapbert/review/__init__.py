"""Review links: what a person should look at first, and what becomes of the corrections."""
