"""The cause of a failure, out of Spark's long reports."""

from __future__ import annotations

ENDED, LOST_EXECUTOR = "Spark has ended the stage", "ExecutorLostFailure"


def cause_of_failure(text: str) -> str:
    """Return the cause of a failure: the executor that was lost, else what stands last in the
    report.
    """
    stripped = (line.strip().removeprefix(": ") for line in text.splitlines())
    lines = [line for line in stripped if line]
    lost = [line for line in lines if LOST_EXECUTOR in line]
    errors = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception", "Lost"))]
    return (lost or errors[-1:] or lines or ["no reason given"])[0][:400]
