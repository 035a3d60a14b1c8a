"""What people look at: plots and the notebook."""
