"""Arrays of Arrow as they lie in memory."""
