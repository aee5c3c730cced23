"""Feed damaged and hostile inputs to everything that reads what others wrote. `make fuzz` runs it."""
