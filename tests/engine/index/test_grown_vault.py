"""Indexes of a vault that grew by many ingests, with the sizes that they have in use."""

from __future__ import annotations

import lamina
from lamina import Vault


def test_a_vault_that_grew_by_ingests_scans_few_rows(lexical_vault: Vault) -> None:
    """A stranger's vault of 45,624 chunks from eleven folders scanned 7,076 of them for each question."""
    for start in range(0, 3_000, 600):
        lexical_vault.add([{"text": f"note {number} of the harbour"} for number in range(start, start + 600)])
    lexical_vault.add([{"text": f"late note {number}"} for number in range(20)])
    lexical_vault.close()
    with lamina.open(lexical_vault.path, mode="r") as reader:
        view = reader._memory.view()
        assert view.rows - view.tables.inverted(view.snapshot).rows == 20
        assert reader.recall("note 2999 of the harbour")[0].text == "note 2999 of the harbour"
