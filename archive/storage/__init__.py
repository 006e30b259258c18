"""The archive's files and folders: names, durable steps, and the disk behind them."""
