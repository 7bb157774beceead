"""Care of a vault: verification, forgetting, compaction, backup."""
