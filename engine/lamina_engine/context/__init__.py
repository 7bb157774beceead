"""Context for agents, inside token budgets: at the start of a session, and at each turn."""
