"""The parts that methods learn with: pure functions over arrays, nothing that steps an environment."""
