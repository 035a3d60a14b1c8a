"""A ledger as a record of a deployment, in the terms of public registries."""
