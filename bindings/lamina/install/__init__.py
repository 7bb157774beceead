"""Install: hooks, MCP entry and skills, into an agent's own files and out of them again.

Settings files are precious: an edit keeps every byte that is not ours, is checked by reading the result, replaces the file
in one step, and can be taken back to the byte. What is written is the absolute path of the program and fixed words.
"""
