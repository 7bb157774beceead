"""Questions that a language model judges: their queue, and the rules for its answers."""
