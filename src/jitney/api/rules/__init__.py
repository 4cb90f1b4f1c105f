"""Custom rules of user-defined functions: how they are called and checked."""
