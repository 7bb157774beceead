"""The engine: the Arrow log, its derived indexes, and recall over them."""
