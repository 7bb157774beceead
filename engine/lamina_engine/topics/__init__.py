"""Topics: clusters of chunks by what they say."""
