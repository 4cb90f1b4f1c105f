"""Arrays, devices, executables: values and how programs run on them."""
