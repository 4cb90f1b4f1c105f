"""Pictures of the documents, drawn from real programs: `python -m tools.pictures`.

Each module that `__main__.PICTURES` names has a function `draw`, which returns a sheet. Texts come from
the package's printers, bytes from the facts of `explain`, offsets from the plan's buffer assignment,
shards from shardings. Nothing depends on the time or the processor, so a test compares the committed
files in `docs/images` with new ones. Measurements are drawn by `benchmarks.picture`.
"""
