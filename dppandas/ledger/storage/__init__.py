"""Where a ledger's entries live: in memory, or in a file that others may share."""
