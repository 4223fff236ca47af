"""Options: how a value is written, what it may be, and how a dataclass is filled from plain values."""
