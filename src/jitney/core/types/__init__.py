"""The types of values: dtypes, abstract values, effects and references."""
