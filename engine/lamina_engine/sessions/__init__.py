"""Transcripts of agents into chunks: turns become chunks, chunks become chains.

``reading`` finds the format of a file; ``claude_code``, ``codex``, ``chats`` and ``plainlog`` read it into ``events``; ``turns``
finds where turns and topics begin, ``cutting`` makes pieces of them, ``write`` puts them into the log and ``ingest`` runs all of
it over files and folders. Everything is a function of a file's bytes read from left to right, so a session that grows gives
the chunks that it would have given at once; only its last chunk changes.
"""

from __future__ import annotations
