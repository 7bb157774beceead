"""Export and import of a vault: everything in one file, and forms for other programs.

A chunk's record is what ``add`` takes, with the log's own fields beside it, and what happened to it: invalidations, pins,
snoozes, reviews, with their reasons; the last scan of its file. Sources, entities, facts, links and topics follow in
records of their own. Vectors are not among it: they are made again from the text. Older versions of chunks stay behind,
a backup has them.
"""
