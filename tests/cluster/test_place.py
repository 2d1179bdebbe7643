"""The place of a command in a job of several machines: flags, environments, keys."""

import re

import pytest
from support.messages import message

from tux.base.errors import DataError, UsageError
from tux.cluster.rendezvous.place import PORT, find_place


def place(
    machines=2,
    rank=0,
    meeting="127.0.0.1:5000",
    key=None,
    insecure=False,
    rejoin=None,
    **environment,
):
    return find_place(
        machines, rank, meeting, key, insecure=insecure, rejoin=rejoin, environment=environment
    )


def test_one_machine_is_no_place():
    assert find_place(None, None, None, None, insecure=False, environment={}) is None
    assert place(machines=1) is None


def test_flags():
    machine = place(rank=1)
    assert machine.rejoin == 60.0 and place(rejoin=9).rejoin == 9
    assert (machine.machines, machine.rank, machine.host, machine.port, machine.secret) == (
        2,
        1,
        "127.0.0.1",
        5000,
        None,
    )
    assert machine.launcher == "tcp://127.0.0.1:5000" and machine.own() == "tcp://127.0.0.1:*"
    assert place(meeting="localhost").port == PORT


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"rank": 2}, "--node-rank 2 of --nnodes 2"),
        ({"machines": 1, "rank": 1}, "--node-rank 1 of --nnodes 1"),
        (
            {"machines": None, "rank": 1},
            "--node-rank and --rdzv without --nnodes: this would train alone",
        ),
        ({"machines": None, "rank": 0, "meeting": None}, "--node-rank without --nnodes"),
        ({"machines": None}, "--rdzv without --nnodes"),
        ({"machines": None, "meeting": None, "key": "job.key"}, "--key-file without --nnodes"),
        ({"machines": None, "meeting": None, "insecure": True}, "--insecure without --nnodes"),
        (
            {"machines": None, "rank": None, "meeting": None, "rejoin": 9},
            "--rejoin without --nnodes",
        ),
        ({"rank": None}, "--node-rank"),
        ({"rank": -1}, "--node-rank"),
        ({"meeting": None}, "--rdzv"),
        ({"meeting": "127.0.0.1:http"}, "HOST:PORT"),
        ({"meeting": "127.0.0.1:99999"}, "HOST:PORT"),
        ({"meeting": ":5000"}, "HOST:PORT"),
        ({"meeting": "no.such.host.invalid:1"}, "no such host"),
        ({"meeting": "10.1.2.3:5000"}, "key"),
    ],
)
def test_what_does_not_fit_together_is_told(flags, message):
    with pytest.raises(UsageError, match=message):
        place(**flags)


def test_a_key_is_needed_between_machines_unless_it_is_waived(tmp_path):
    key = tmp_path / "job.key"
    key.write_bytes(bytes(32))
    machine = place(meeting="10.1.2.3:5000", key=str(key))
    assert len(machine.secret) == 32
    assert place(meeting="10.1.2.3:5000", TUX_JOB_KEY="words").secret not in (None, machine.secret)
    assert place(meeting="10.1.2.3:5000", insecure=True).secret is None


def test_short_and_missing_keys(tmp_path):
    key = tmp_path / "job.key"
    with pytest.raises(DataError, match=message("the-key-cannot-be-read")):
        place(key=str(key))
    key.write_bytes(bytes(31))
    with pytest.raises(UsageError, match="31 bytes"):
        place(key=str(key))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (
            {
                "TORCHELASTIC_RUN_ID": "x",
                "WORLD_SIZE": "3",
                "RANK": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": "7",
            },
            (3, 2, "127.0.0.1", 7),
        ),
        (
            {
                "SLURM_STEP_ID": "0",
                "SLURM_NTASKS": "4",
                "SLURM_PROCID": "3",
                "SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1",
            },
            (4, 3, "127.0.0.1", PORT),
        ),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}, (2, 1, "127.0.0.9", 9)),
    ],
)
def test_the_environments_of_other_launchers(environment, expected):
    meeting = "127.0.0.9:9" if "OMPI_COMM_WORLD_SIZE" in environment else None
    machine = find_place(None, None, meeting, None, insecure=False, environment=environment)
    assert (machine.machines, machine.rank, machine.host, machine.port) == expected


def test_a_rank_that_contradicts_the_environment_is_told():
    slurm = {"SLURM_STEP_ID": "0", "SLURM_NTASKS": "2", "SLURM_PROCID": "1"}
    with pytest.raises(UsageError, match=message("node-rank-but-the-environment", "0", "1")):
        place(machines=None, rank=0, **slurm)
    assert place(machines=None, rank=1, **slurm).rank == 1


def test_flags_win_over_the_environment():
    machine = place(
        WORLD_SIZE="9", RANK="8", TORCHELASTIC_RUN_ID="x", MASTER_ADDR="a", MASTER_PORT="1"
    )
    assert (machine.machines, machine.rank) == (2, 0)


STEP = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "8"}
TORCH = {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "2", "RANK": "0"}


def in_environment(environment, meeting=None):
    return find_place(None, None, meeting, None, insecure=False, environment=environment)


def test_a_shell_within_an_allocation_of_slurm_is_one_machine():
    assert in_environment(STEP | {"SLURM_STEP_NUM_TASKS": "1"}) is None


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (STEP, "SLURM_NTASKS=8, SLURM_PROCID=0, SLURM_LAUNCH_NODE_IPADDR is not set"),
        (STEP | {"SLURM_LAUNCH_NODE_IPADDR": "10.0.0.1"}, "needs a key"),
        (STEP | {"SLURM_LAUNCH_NODE_IPADDR": "10.0.0.1"}, "SLURM_NTASKS=8, SLURM_PROCID=0"),
        (STEP | {"SLURM_STEP_NUM_TASKS": "8(x2)"}, "SLURM_STEP_NUM_TASKS is '8\\(x2\\)'"),
        (STEP | {"SLURM_PROCID": "9"}, "SLURM_PROCID=9"),
        ({"SLURM_STEP_ID": "0", "SLURM_PROCID": "0"}, "SLURM_NTASKS is not set"),
        (TORCH, "MASTER_ADDR is not set, MASTER_PORT is not set"),
        (TORCH | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "x"}, "MASTER_PORT=x"),
        (TORCH | {"WORLD_SIZE": ""}, "WORLD_SIZE is '', which is no whole number"),
        ({"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "1"}, "RANK is not set"),
        ({"OMPI_COMM_WORLD_SIZE": "2"}, "OMPI_COMM_WORLD_RANK is not set"),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "-1"}, "RANK is '-1'"),
    ],
)
def test_an_error_names_the_variables_that_say_so(environment, message):
    with pytest.raises(UsageError) as caught:
        in_environment(environment)
    assert re.search(message, str(caught.value)) and "--nnodes 1" in caught.value.do


def test_a_flag_stands_for_variables_that_are_missing():
    assert in_environment(TORCH, "127.0.0.1:7").port == 7
    assert in_environment(TORCH | {"WORLD_SIZE": "1"}) is None
