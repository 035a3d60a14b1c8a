"""Pictures of answers, with matplotlib."""
