"""What was spent: the ledger, how it looks, and where it is kept."""
