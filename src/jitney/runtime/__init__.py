"""Arrays, devices and executables: values, and how programs run on them."""
