"""Typed links between chunks: what they mean, how they are written and withdrawn, what makes them, what walks them."""
