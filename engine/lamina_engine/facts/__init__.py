"""Facts: entities, triples with validity in time, their sources, and questions about them."""
