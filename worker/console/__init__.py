"""What every command is made of: its options, its settings, its words and its exit code."""
