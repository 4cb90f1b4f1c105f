"""Nodes are computed where they are used, unless that costs more than their memory."""

import pytest

from jitney.compiler.cost import COSTS
from jitney.compiler.fusion import group as fusion
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.parse import parse_region

TYPES = "p0: float32[64,64], p1: float32[64]"


def grouped(body, returned=None, types=TYPES):
    """The grouping of a program, and its nodes by number."""
    last = [line for line in body.strip().splitlines() if line.startswith("%")][-1].split()[0]
    names = [line.split()[0] for line in body.strip().splitlines() if line.startswith("%")]
    text = f"({types}) {{\n{body}\nreturn {', '.join(names)}\n}}"
    nodes = dict(zip(names, parse_region(text).results, strict=True))
    results = [nodes[name] for name in (returned or last).split(", ")]
    found = fusion.group(
        results, [], lambda node: True, lambda n: isinstance(n, ir.Reduce | ir.Dot), lambda n: True
    )
    assert set(found.reasons) == found.materialized
    return found, nodes


def kinds(found):
    return [(group.kind, len(group.roots)) for group in found.groups]


CHAIN = "%1 = neg p0 : float32[64,64]\n%2 = transpose %1 perm=(1,0) : float32[64,64]\n"


def test_elementwise_nodes_and_views_are_inlined():
    found, nodes = grouped(CHAIN + "%3 = add %2, p0 : float32[64,64]")
    assert kinds(found) == [("loop", 1)] and found.materialized == {nodes["%3"]}
    assert fusion.reason_text(found.reasons[nodes["%3"]]) == "it is a result"


def test_costly_values_with_several_users_are_stored():
    body = (
        "%1 = {fn} p0 : float32[64,64]\n%2 = reduce %1 fn=add dims=(0,) : float32[64]\n"
        "%3 = reduce %1 fn=max dims=(1,) : float32[64]"
    )
    cheap, nodes = grouped(body.format(fn="neg"), "%2, %3")
    assert nodes["%1"] not in cheap.materialized
    costly, nodes = grouped(body.format(fn="exp"), "%2, %3")
    text = fusion.reason_text(costly.reasons[nodes["%1"]])
    cost = COSTS.function("exp")
    assert cost > COSTS.store_above and text.endswith(f"as much as {cost} additions per element")


def test_costly_values_that_a_broadcast_repeats_are_stored():
    body = (
        "%1 = exp p1 : float32[64]\n%2 = broadcast %1 dims=(1,) : float32[64,64]\n"
        "%3 = mul %2, p0 : float32[64,64]"
    )
    found, nodes = grouped(body)
    assert kinds(found) == [("loop", 1), ("loop", 1)]
    assert fusion.reason_text(found.reasons[nodes["%1"]]).startswith("broadcast would recompute it")
    cheap, nodes = grouped(body.replace("exp", "neg"))
    assert nodes["%1"] not in cheap.materialized


def test_reductions_over_the_same_axes_share_a_loop_nest():
    body = (
        "%1 = reduce p0 fn=add dims=(0,) : float32[64]\n%2 = reduce p0 fn=max dims=(0,) : float32[64]\n"
        "%3 = reduce p0 fn=max dims=(1,) : float32[64]"
    )
    found, nodes = grouped(body, "%1, %2, %3")
    assert sorted(kinds(found)) == [("reduce", 1), ("reduce", 2)]
    same = fusion.reduction_signature
    assert same(nodes["%1"]) == same(nodes["%2"]) != same(nodes["%3"])


def test_groups_come_in_a_valid_order():
    body = (
        "%1 = exp p0 : float32[64,64]\n%2 = reduce %1 fn=add dims=(1,) : float32[64]\n"
        "%3 = sort %2 dim=0 num_keys=1 stable=True : (float32[64])\n"
        "%4 = project %3 index=0 : float32[64]\n%5 = exp %4 : float32[64]\n"
        "%6 = add %5, p1 : float32[64]"
    )
    names = ("%1", "%2", "%4", "%5", "%6")
    region = parse_region(f"({TYPES}) {{\n{body}\nreturn {', '.join(names)}\n}}")
    sort = region.results[2].node
    found = fusion.group(
        [region.results[-1]], [], lambda n: not isinstance(n, ir.Sort),
        lambda n: isinstance(n, ir.Reduce), lambda n: True,
    )  # fmt: skip
    assert kinds(found) == [("reduce", 1), ("single", 1), ("loop", 1)]
    assert found.groups[1].roots == [sort]
    assert (
        fusion.reason_text(found.reasons[region.results[1]])
        == "sort reads its operands from memory"
    )


@pytest.mark.parametrize(
    ("n", "expected"), [(COSTS.short_axis, True), (COSTS.short_axis + 1, False)]
)
def test_short_reductions_are_written_out_where_they_are_used(n, expected):
    body = "%1 = reduce p0 fn=add dims=(1,) : float32[64]\n%2 = neg %1 : float32[64]"
    found, nodes = grouped(body, types=f"p0: float32[64,{n}]")
    assert fusion.is_short(nodes["%1"]) == expected
    assert (nodes["%1"] in found.materialized) == (not expected)


def test_what_shares_memory_stores_its_operand():
    body = "%1 = neg p0 : float32[64,64]\n%2 = reshape %1 : float32[4096]"
    found, nodes = grouped(body)
    assert fusion.is_alias(nodes["%2"]) and found.materialized == {nodes["%1"], nodes["%2"]}
    assert [group.roots for group in found.groups] == [[nodes["%1"]]]


def test_parts_of_a_concatenation_are_stored_once_if_several_use_it():
    body = (
        "%1 = neg p0 : float32[64,64]\n%2 = concatenate %1, p0 dim=0 : float32[128,64]\n"
        "%3 = abs %2 : float32[128,64]\n%4 = reverse %2 dims=(0,) : float32[128,64]"
    )
    single, nodes = grouped("\n".join(body.splitlines()[:3]))
    assert nodes["%2"] not in single.materialized
    both, nodes = grouped(body + "\n%5 = reduce %4 fn=max dims=(0,) : float32[64]", "%3, %5")
    assert nodes["%2"] in both.materialized


def test_long_chains_are_cut_into_kernels():
    lines = ["%1 = neg p0 : float32[64,64]"]
    lines += [f"%{k} = mul %{k - 1}, p0 : float32[64,64]" for k in range(2, 401)]
    found, _ = grouped("\n".join(lines))
    assert len(found.groups) > 1
    assert all(group.size <= COSTS.kernel_statements + 2 for group in found.groups)  # the ends
    assert any(reason == fusion.TOO_LARGE for reason, _ in found.reasons.values())
