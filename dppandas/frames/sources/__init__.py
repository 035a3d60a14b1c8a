"""What `dp.protect` takes: its public facts, the data as they stay, and who reads them."""
