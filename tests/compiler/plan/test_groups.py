"""Nodes are printed with the steps that compute them, and why they are in memory."""

from tests.compiler.plan.executed import built

from jitney.compiler.plan.groups import nodes_of, print_groups


def printed(body, types, returned=None):
    module, plan = built(body, types, returned)
    return [line.split(" : ")[-1] for line in print_groups(module, plan).splitlines()[1:-2]]


def test_nodes_of_one_step_are_fused():
    body = (
        "%1 = sin p0 : float32[8]\n%2 = neg %1 : float32[8]\n"
        "%3 = reduce %2 fn=add dims=(0,) : float32[]"
    )
    assert printed(body, ["float32[8]"]) == [
        "float32[8]  # step 1",
        "float32[8]  # step 1",
        "float32[]  # step 1; 4 bytes in memory: it is a result",
    ]


def test_what_several_steps_compute_is_not_stored():
    body = (
        "%1 = neg p0 : float32[8]\n%2 = reduce %1 fn=add dims=(0,) : float32[]\n"
        "%3 = reverse %1 dims=(0,) : float32[8]"
    )
    first, *_ = printed(body, ["float32[8]"], "%2, %3")
    assert first == "float32[8]  # steps 1, 2"


def test_steps_within_loops_have_the_number_of_the_loop():
    body = """%1 = cumulative p0 fn=add dim=0 reverse=False : float32[8]
%2 = cond p1, %1 case0=(p0: float32[8]) {
    %1 = neg p0 : float32[8]
    return %1
  } : (float32[8])
%3 = project %2 index=0 : float32[8]"""
    module, plan = built(body, ["float32[8]", "int32[]"])
    text = print_groups(module, plan)
    assert "32 bytes in memory: cond reads its operands from memory" in text
    assert "# step 2.1" in text


def test_nodes_of_a_step_end_at_what_is_stored():
    body = (
        "%1 = sin p0 : float32[8]\n%2 = cumulative %1 fn=add dim=0 reverse=False : float32[8]\n"
        "%3 = cos %2 : float32[8]"
    )
    _, plan = built(body, ["float32[8]"])
    words = [[getattr(n, "fn", "") for n in nodes_of(step, plan.stored)] for step in plan.steps]
    assert words == [["sin"], ["add"], ["cos"]]
