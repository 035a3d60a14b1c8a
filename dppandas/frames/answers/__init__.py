"""What columns, frames and groups all answer."""
