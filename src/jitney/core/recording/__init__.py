"""Recording of functions as jaxprs."""
