"""Onlooker: teach a simulated robot to move by watching another one."""

__version__ = "0.1.0"
