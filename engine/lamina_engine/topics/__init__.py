"""Topics: clusters of chunks by content."""
