"""Devices, the shardings and layouts of arrays on them, and the processes that share them."""
