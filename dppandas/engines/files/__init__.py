"""Parquet files on this machine, which may be larger than memory."""
