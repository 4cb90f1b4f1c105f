"""Types along the Explicit and manual axes of meshes: rules that propagate them."""
