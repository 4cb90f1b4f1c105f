"""Where operations come from: lines and expressions of the user's code, and warnings at them."""
