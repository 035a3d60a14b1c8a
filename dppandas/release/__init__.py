"""The one road of a release: request, plan, charge, read, noise, record."""
