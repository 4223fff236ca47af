"""A trained policy: a function from observations to actions, and the files that hold it. Nothing here needs jax."""
