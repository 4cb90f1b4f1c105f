"""Execution of operations and programs: eager mode, dispatch, executables, call signatures."""
