"""What is still true: chunks judged by what became of their source, refreshed from it, or put away."""
