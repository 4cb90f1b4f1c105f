"""How operations and programs run: eager evaluation, dispatch, executables, signatures of calls."""
