"""What to tell an agent now: at the start of a session, and with each of its turns."""
