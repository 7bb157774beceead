"""Verbs of clauses, so far as they are known without a dictionary."""

from __future__ import annotations

from typing import Final

AUXILIARY: Final = r"(?:is|are|was|were|been|has|have|had|can|could|will|would|shall|should|(?-i:may)|might|must|does|did|do|gets?|got)"
VERB: Final = (
    rf"(?:{AUXILIARY}|costs?|owns?|runs?|ran|uses?|holds?|held|weighs?|takes?|took|keeps?|kept|stands?|stood|lies|comes?|came|goes|went|"
    r"leaves?|left|begins?|began|starts?|ends?|opens?|closes?|carries|pays?|paid|sold|bought|built|broke|stopped|lives?|leads|led|manages|"
    r"defaults)"
)
