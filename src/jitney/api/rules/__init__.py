"""Rules that users give for functions of their own: how they are called, and checked."""
