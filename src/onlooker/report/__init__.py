"""Pictures and tables, made from run folders only."""
