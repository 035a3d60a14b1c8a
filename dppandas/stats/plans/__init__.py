"""What a test will find, and what clipping will cost, before anything is paid for."""
