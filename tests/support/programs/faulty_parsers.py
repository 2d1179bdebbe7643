"""Parsers with a fault each, as `fuzz.registry` has right ones."""

import faulthandler

import numpy as np

from fuzz.parser import Parser
from tux.base.errors import DataError

SAMPLE = b"right"


def nothing(content):
    pass


def text(content):
    return content.decode()


def error_of_tux(content):
    raise DataError("what", where="file:1", do="Correct the file.")


def crash(content):
    if content[0] % 32 == 7:
        faulthandler._sigsegv()


def endless(content):
    while content[0] % 32 == 7:
        pass


def memory(content):
    if content[0] % 32 == 7:
        np.ones(1 << 31)


def warning(content):
    return np.array([300.0 + content[0] * 1e300]).astype(np.float32)


def draw_bytes(rng, samples):
    """Draw random bytes, of which about one in 32 begins with 7, 39 and so on."""
    return rng.randbytes(3)


READ = (nothing, text, crash, endless, memory)


def parsers(folder):
    return {read.__name__: Parser([SAMPLE], read, draw_bytes) for read in READ}
