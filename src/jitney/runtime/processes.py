"""What is known of the processes of a program; there is one, unless something says otherwise."""

from __future__ import annotations

from typing import Any


class State:
    """Who this process is among the program's.

    Attributes:
      process_id: its number.
      num_processes: how many there are.
      client: what it talks with the others through; None where there are none.
      service: what the first process has for the others to meet; None elsewhere.
      coordinator_address: where that is.
    """

    process_id: int = 0
    num_processes: int = 1
    client: Any = None
    service: Any = None
    coordinator_address: str | None = None


state = State()
