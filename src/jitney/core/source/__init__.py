"""The origin of operations: the lines and expressions of the user's code, and warnings at them."""
