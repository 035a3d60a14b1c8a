"""Released answers put together: at no cost, or by asking again."""
