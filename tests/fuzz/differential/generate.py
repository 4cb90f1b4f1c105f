"""Random programs: operations of `rules`, loops and branches around them, and transformations."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.fuzz.differential import modes, run, values
from tests.fuzz.differential.operand_rules import OPERAND_RULES
from tests.fuzz.differential.program import Block, Op, Program, Type
from tests.fuzz.differential.rules import RULES, Draft, pick
from tests.fuzz.differential.values import kind

import jitney
import jitney.numpy

DEPTH = 2  # of blocks within blocks
ATTEMPTS = 12  # at one operation
MOST_ROWS = 40  # of a matrix of derivatives


class Generator:
    """Makes one program; `scope` holds the values that may be used at this point."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.scope: list[tuple[str, Type]] = []
        self.count = 0

    def program(self) -> Program:
        r = self.r
        x64 = r.random() < 0.6
        with jitney.enable_x64(x64):
            inputs = [values.argument(r, f"x{i}", x64) for i in range(r.randint(1, 3))]
            self.scope = [(x.name, x.type) for x in inputs]
            ops = self.operations(r.randint(2, 8), 0)
        made = [name for op in ops for name in op.results]
        # The last value, and others now and then: what is not used may be taken out by a compiler.
        results = [n for n in made[:-1] if r.random() < 0.3] + made[-1:]
        results = results or [inputs[0].name]
        signature = ", ".join([x.name for x in inputs])
        block = Block(signature, "", tuple(ops), tuple(results), _tuple(len(results)))
        large = any(math.prod(x.type.shape) > MOST_ROWS for x in inputs)
        inexact = [i for i, x in enumerate(inputs) if kind(x.type.dtype) == "f"]
        return Program(tuple(inputs), block, modes.choose(r, inexact, len(inputs), large), x64)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def operations(self, count: int, depth: int) -> list[Op]:
        """Up to `count` operations, whose results are in scope afterwards."""
        ops = []
        for _ in range(count):
            for _ in range(ATTEMPTS):
                op = self.operation(depth)
                if op is not None:
                    ops.append(op)
                    break
        return ops

    def operation(self, depth: int) -> Op | None:
        before = len(self.scope)
        if depth < DEPTH and self.r.random() < (0.16 if depth == 0 else 0.12):
            rule = self.r.choice(CONTROL)
            return self.enter(rule(self, depth), before)
        rules, weights = zip(*RULES, *OPERAND_RULES, strict=True)
        draft = self.r.choices(rules, weights)[0](self.r, self.scope)
        return self.enter(draft and self.op(draft), before)

    def op(self, draft: Draft) -> Op:
        return Op((self.name(),), draft.text, draft.operands, draft.exact)

    def enter(self, op: Op | None, before: int) -> Op | None:
        """`op` if it is valid, its results being in scope afterwards."""
        del self.scope[before:]
        types = op and self.types(op)
        if not op or types is None or not all(map(_is_usual, types)):
            return None
        self.scope += zip(op.results, types, strict=True)
        return replace(op, types=tuple(types))

    def types(self, op: Op) -> list[Type] | None:
        """Types of the results, or None where jitney refuses the operation."""
        names = [name for name, _ in self.scope]
        block = Block(", ".join(names), "", (op,), op.results, _tuple(len(op.results)))
        function = run.define(block.source("f"), jitney)["f"]
        structs = [
            jitney.ShapeDtypeStruct(t.shape, jitney.numpy.dtype(t.dtype), weak_type=t.weak)
            for _, t in self.scope
        ]
        try:
            with run.quietly():
                out = jitney.eval_shape(function, *structs)
        except Exception:
            return None
        if len(out) != len(op.results) or not all(hasattr(x, "dtype") for x in out):
            return None
        return [Type(str(x.dtype), tuple(x.shape), bool(x.weak_type)) for x in out]

    # --- operations with blocks -----------------------------------------------------------------

    def block(self, params: Sequence[tuple[str, Type]], depth: int, wanted: Sequence[Type] | None,
              signature: str, opening: str = "", returns: str = "") -> Block:  # fmt: skip
        """A block with results of the types `wanted`; or with the last value as a result."""
        before = len(self.scope)
        self.scope += params
        ops = self.operations(self.r.randint(1, 3), depth + 1)
        results = []
        if wanted is None:
            results = [self.scope[-1][0]]
        for type_ in wanted or ():
            op = self.coerced(type_, len(self.scope) - before)
            ops.append(op)
            self.scope.append((op.results[0], type_._replace(weak=False)))
            results.append(op.results[0])
        del self.scope[before:]
        returns = returns or _tuple(len(results))
        return Block(signature, opening, tuple(ops), tuple(results), returns)

    def coerced(self, type_: Type, recent: int) -> Op:
        """An operation that makes a value of `type_` of one of the `recent` values in scope."""
        alike = [n for n, t in self.scope[-recent:] if t.shape == type_.shape]
        name = alike[-1] if alike else self.scope[-1 - self.r.randrange(recent)][0]
        text = "{0}" if alike else f"jnp.resize({{0}}, {type_.shape})"
        result = type_._replace(weak=False)
        call = f'jnp.asarray({text}).astype("{type_.dtype}")'
        return Op((self.name(),), call, (name,), True, (), (result,))

    def carries(self) -> list[tuple[str, Type]]:
        return [s for s in (pick(self.r, self.scope) for _ in range(self.r.choice((1, 1, 2)))) if s]

    def fori(self, depth: int) -> Op:
        carry = self.carries()
        i, names = self.name(), [self.name() for _ in carry]
        types = [t for _, t in carry]
        body = self.block(
            [(i, Type("int32", (), True)), *zip(names, types, strict=True)], depth, types,
            f"{i}, c", f"{', '.join(names)}, = c",
        )  # fmt: skip
        start, stop = self.r.choice(((0, 3), (0, 1), (0, 5), (2, 2), (-2, 2), (0, 9)))
        text = f"lax.fori_loop({start}, {stop}, {{b0}}, {_tuple(len(carry))})"
        return self.with_blocks(text, carry, [body])

    def while_(self, depth: int) -> Op:
        """A loop whose number of iterations depends on the data, with a limit."""
        carry = self.carries()
        i, names = self.name(), [self.name() for _ in carry]
        types = [t for _, t in carry]
        inner = [(i, Type("int32", ())), *zip(names, types, strict=True)]
        body = self.block(inner, depth, types, "c", f"{i}, {', '.join(names)}, = c")
        returns = f"({i} + 1, {_tuple(len(carry))[1:]}"
        condition = self.block(
            inner, DEPTH, [Type("bool", ())], "c", body.opening, f"({i} < 4) & ({{0}} | ({i} < 2))"
        )
        body = Block(body.signature, body.opening, body.ops, body.results, returns)
        text = f"lax.while_loop({{b0}}, {{b1}}, (jnp.int32(0), {_tuple(len(carry))[1:]})[1:]"
        return self.with_blocks(text, carry, [condition, body])

    def scan(self, depth: int) -> Op | None:
        carry = self.carries()
        xs = pick(self.r, self.scope, "", 1)
        if xs is None or xs[1].shape[0] > 9:
            return None
        names, x, y = [self.name() for _ in carry], self.name(), self.name()
        types = [t for _, t in carry]
        inner = [*zip(names, types, strict=True), (x, Type(xs[1].dtype, xs[1].shape[1:]))]
        body = self.block(inner, depth, types, f"c, {x}", f"{', '.join(names)}, = c")
        out = self.r.choice([*names, x, *body.results])
        body = Block(body.signature, body.opening, body.ops, (*body.results, out),
                     f"{_tuple(len(carry))}, {{{len(carry)}}}")  # fmt: skip
        options = self.r.choice(("", "", ", reverse=True", ", unroll=2"))
        # The carry and the stacked results, as one tuple.
        text = (
            f"(lambda r: (*r[0], r[1]))(lax.scan({{b0}}, {_tuple(len(carry))}, "
            f"{{{len(carry)}}}{options}))"
        )
        op = self.with_blocks(text, [*carry, xs], [body])
        return Op((*op.results[: len(carry)], y), op.text, op.operands, op.exact, op.blocks)

    def cond(self, depth: int) -> Op | None:
        which, x = pick(self.r, self.scope, "biuf"), pick(self.r, self.scope)
        result = pick(self.r, self.scope)
        if not which or not x or not result:
            return None
        count = self.r.choice((2, 2, 2, 3, 1))
        names = [self.name() for _ in range(count)]
        blocks = [self.block([(n, x[1])], depth, [result[1]], n) for n in names]
        branches = ", ".join([f"{{b{i}}}" for i in range(count)])
        scalar = "jnp.ravel({1})[:1].sum()"
        text = f"lax.switch({scalar}.astype(jnp.int32), [{branches}], {{0}})"
        if count == 2:
            text = f"lax.cond({scalar} > 0, {branches}, {{0}})"
        return Op((self.name(),), f"{text}[0]", (x[0], which[0]), True, tuple(blocks))

    def call(self, depth: int) -> Op | None:
        """A function of one value under a transformation, or called by the operations that do."""
        x = pick(self.r, self.scope)
        if not x:
            return None
        kinds = ["jax.jit({b0})({0})", "jax.checkpoint({b0})({0})", "jax.vmap({b0})({0})",
                 "lax.map({b0}, {0})", "jax.jvp({b0}, ({0},), (jnp.ones_like({0}),))[1]"]  # fmt: skip
        if kind(x[1].dtype) == "f":
            kinds += ["jax.grad(lambda y: jnp.sum({b0}(y)).real)({0})", "jax.jacfwd({b0})({0})"]
        text = self.r.choice(kinds)
        inner = x[1]
        if ("vmap" in text or "map(" in text) and inner.shape:
            inner = Type(inner.dtype, inner.shape[1:])
        name = self.name()
        block = self.block([(name, inner)], depth, None, name, "", "{0}")
        exact = not any(word in text for word in ("jvp", "grad", "jac"))
        return Op((self.name(),), text, (x[0],), exact, (block,))

    def with_blocks(
        self, text: str, operands: Sequence[tuple[str, Type]], blocks: list[Block]
    ) -> Op:
        count = len(blocks[-1].results) - ("lambda r" in text)
        names = tuple([self.name() for _ in range(count)])
        if count == 1 and "lambda r" not in text:
            text += "[0]"
        return Op(names, text, tuple([n for n, _ in operands]), True, tuple(blocks))


CONTROL: tuple[Callable[[Generator, int], Op | None], ...] = (
    Generator.fori, Generator.fori, Generator.while_, Generator.scan, Generator.scan,
    Generator.cond, Generator.call, Generator.call,
)  # fmt: skip


def _tuple(count: int) -> str:
    """A tuple of the first `count` operands."""
    return f"({''.join([f'{{{i}}}, ' for i in range(count)])})"


def _is_usual(type_: Type) -> bool:
    is_number = type_.dtype.rstrip("0123456789_emfnuz") in (
        "bool",
        "int",
        "uint",
        "float",
        "bfloat",
        "complex",
    )
    return is_number and len(type_.shape) <= 5 and math.prod(type_.shape) <= 600


def program(seed: int) -> Program:
    """The program of `seed`."""
    return Generator(seed).program()
