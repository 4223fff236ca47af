"""Robots in worlds whose physics can be changed. Nothing in here knows about learning or imports jax."""
