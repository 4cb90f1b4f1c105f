"""Features that observe what runs: key reuse checks, transfer guards, bans on collectives."""
