"""Which links a group uses, and what they take."""

from __future__ import annotations

import csv
import gzip
import os

import pytest

from roofline import InputError, load_machine
from roofline.machine.links import Interconnect, floor
from roofline.machine.load import entries, from_data


def wire(machine, collective, group, **given):
    return Interconnect(load_machine(machine), **given).wire(collective, group)


def machine(*links):
    return from_data(
        {
            "name": "M",
            "datasheet": {"bandwidth": {"memory": 1e12}, "compute": {"bf16": 1e14}},
            "links": list(links),
        },
        "test",
    )


FAST = {"name": "NVLink", "bandwidth": 400e9, "latency": 1e-6, "devices": 8, "scope": "node"}
SLOW = {"name": "InfiniBand", "bandwidth": 50e9, "latency": 4e-6, "devices": 64, "scope": "cluster"}


def test_within_a_node_the_fastest():
    w = wire("h100-sxm", "all_reduce", 8)
    assert [s.link.name for s in w.shares] == ["NVLink 4"]
    assert w.second_per_byte == 1 / 450e9
    assert wire("a100-80gb-pcie", "all_reduce", 2).slowest.link.name == "NVLink 3 bridge"


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "reduce_scatter"])
def test_sums_over_nodes_go_over_the_network_once_a_node(collective):
    # 16 in 2 nodes of 8, of S bytes: 7/8·S in the node, 1/2·S/8 between the two, of 15/16·S
    w = Interconnect(machine(FAST, SLOW)).wire(collective, 16)
    fast, slow = w.shares
    assert fast.carries == pytest.approx(7 / 8 / (15 / 16))
    assert slow.carries == pytest.approx(1 / 16 / (15 / 16))
    # A schedule may send over the network what NVLink could carry: all of it over both together.
    assert w.second_per_byte == pytest.approx(max(1 / 450e9, slow.carries / 50e9))
    assert w.second_per_message == 4e-6


@pytest.mark.parametrize("slow", [SLOW, {**SLOW, "bandwidth": 5e9}, {**SLOW, "bandwidth": 300e9}])
@pytest.mark.parametrize("nodes", [2, 3, 8])
def test_no_mix_of_two_schedules_beats_the_bound(slow, nodes):
    """All-reduces of S bytes within nodes first, and rings that go from node to node at each hop:
    of any part of the data by the one and the rest by the other, none is faster, and one is as
    fast as the bound says."""
    n = 8 * nodes
    w = Interconnect(machine(FAST, slow)).wire("all_reduce", n)
    inside, between = w.shares
    sent, per_node, best = 2 * (n - 1) / n, inside.domain, float("inf")
    for part in range(1001):
        first = part / 1000
        fast = first * 2 * (per_node - 1) / per_node
        across = first * 2 * (1 / per_node - 1 / n) + (1 - first) * sent
        takes = max(fast / inside.bandwidth, across / between.bandwidth)
        assert sent * w.second_per_byte <= takes * (1 + 1e-12)
        best = min(best, takes)
    assert best == pytest.approx(sent * w.second_per_byte, rel=0.01)


def test_all_to_all_goes_as_far_as_the_peers_are():
    w = Interconnect(machine(FAST, SLOW)).wire("all_to_all", 32)
    assert [s.carries for s in w.shares] == pytest.approx([7 / 31, 24 / 31])
    assert w.second_per_byte == pytest.approx(24 / 31 / 50e9)


def test_a_stage_sends_over_the_link_to_the_next():
    within = Interconnect(machine(FAST, SLOW)).wire("send", 8)
    across = Interconnect(machine(FAST, SLOW)).wire("send", 16)
    assert (within.second_per_byte, across.second_per_byte) == (1 / 400e9, 1 / 50e9)


def test_groups_that_do_not_fill_nodes_divide_over_them():
    # 12 devices of nodes of 8: two nodes with 6 each; 11: none is in a node with another
    links = Interconnect(machine(FAST, SLOW))
    assert [s.domain for s in links.wire("all_gather", 12).shares] == [6, 12]
    assert [s.domain for s in links.wire("all_gather", 11).shares] == [11]


def test_parts_of_a_mesh_have_their_part_of_the_bandwidth():
    # MI300X: seven links of 64 GB/s, one to each peer
    for n, bandwidth in ((2, 64e9), (4, 192e9), (8, 448e9)):
        assert wire("mi300x", "all_reduce", n).second_per_byte == pytest.approx(1 / bandwidth)
    assert wire("mi300x", "send", 8).second_per_byte == pytest.approx(1 / 64e9)


def test_the_link_to_the_host_joins_no_gpus():
    assert wire("gb200", "all_reduce", 2).slowest.link.name == "NVLink 5"
    assert wire("gh200-96gb", "all_reduce", 2).slowest.link.name == "NVLink 4"


def test_links_and_latency_can_be_given():
    named = wire("h100-sxm", "all_reduce", 8, link="pcie")
    assert named.slowest.link.name == "PCIe 5.0 x16"
    given = wire("m4-max-40c", "all_reduce", 4, link=10e9, latency=20e-6)
    assert (given.second_per_byte, given.second_per_message) == (1e-10, 20e-6)
    assert wire("m4-max-40c", "all_reduce", 4, link=10e9).latency is None


@pytest.mark.parametrize(
    ("name", "group", "said"),
    [
        ("rtx-4090", 16, "PCIe 4.0 x16 joins 8"),
        ("m4-max-40c", 2, "no link to other devices is known"),
        ("h100-sxm", 5000, "joins 1024"),
    ],
)
def test_what_no_link_joins_is_refused_with_a_way_out(name, group, said):
    with pytest.raises(InputError, match=said) as error:
        wire(name, "all_reduce", group)
    assert "--link 25GB/s" in str(error.value)


@pytest.mark.parametrize("link", ["token ring", "n"])
def test_a_link_by_a_name_that_is_none_or_several(link):
    with pytest.raises(InputError, match="NVLink 4"):
        wire("h100-sxm", "all_reduce", 8, link=link)


def test_every_known_latency_has_a_source():
    for entry in entries():
        for link in from_data(entry, entry["id"], entry["sources"]).links:
            figure = link.latency or floor(link)
            if figure is not None:
                assert figure.source, link
                assert figure.url.startswith("https://"), link
                assert 1e-7 < figure.value < 1e-4


def test_no_measured_collective_is_faster(shared):
    """The bound holds against 3,160 collectives measured on A100, H100 and L40S.

    Sums over all eight GPUs of an H100 node are the exception: the switch can add them up
    (NVLink SHARP), which saves up to half the bytes; the fastest beats the bound by 4 %.
    """
    ids = {"a100_sxm": "a100-80gb-sxm", "h100_sxm": "h100-sxm", "l40s": "l40s"}
    path = os.path.join(shared, "validation", "collectives.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 3000
    interconnects = {system: Interconnect(load_machine(name)) for system, name in ids.items()}
    for row in rows:
        kind, n = row["op_name"].replace("alltoall", "all_to_all"), int(row["num_gpus"])
        element = 1 if row["nccl_dtype"] == "int8" else 2
        sent = (n - 1) / n * int(row["message_size"]) * element
        w = interconnects[row["system"]].wire(kind, n)
        bound = sent * (2 if kind == "all_reduce" else 1) * w.second_per_byte + w.second_per_message
        in_switch = row["system"] == "h100_sxm" and n == 8 and kind == "all_reduce"
        assert bound <= float(row["latency"]) * 1e-3 * (1.05 if in_switch else 1), row
