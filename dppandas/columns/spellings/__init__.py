"""Other spellings of the row-wise methods: numpy's functions, texts of queries, `loc`."""
