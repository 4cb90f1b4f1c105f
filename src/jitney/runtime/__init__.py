"""Arrays, devices and executables: concrete values, and the execution of programs on them."""
