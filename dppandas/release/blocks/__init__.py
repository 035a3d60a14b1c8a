"""Several releases at once: previewed, with a shared loss, or composed tightly."""
