"""Making everything derived again from the log alone: vectors by another model, words by other rules, damaged indexes."""
