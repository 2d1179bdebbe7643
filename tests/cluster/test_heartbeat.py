"""Signs of life, with a time that the test decides."""

from tux.cluster.heartbeat import HEARTBEAT, SILENCE, Heartbeat


def test_a_sign_of_life_is_due_once_an_interval():
    heartbeat = Heartbeat(100.0)
    assert heartbeat.due(100.0), "the first one at once"
    assert not heartbeat.due(100.0 + 0.9 * HEARTBEAT)
    assert heartbeat.due(100.0 + HEARTBEAT)
    assert not heartbeat.due(100.0 + 1.5 * HEARTBEAT)


def test_a_member_is_silent_from_when_it_was_last_heard():
    heartbeat = Heartbeat(0.0)
    heartbeat.heard[1] = 10.0
    assert heartbeat.silence(1, 10.0 + SILENCE) == SILENCE
    assert heartbeat.silence(2, 10.0 + SILENCE) == 0, "one that was never heard has not begun"


def test_time_in_which_nobody_listened_is_nobodys_silence():
    heartbeat = Heartbeat(0.0)
    heartbeat.due(0.0)
    heartbeat.heard[1] = 0.0
    heartbeat.due(1000.0)
    assert heartbeat.silence(1, 1000.0) <= HEARTBEAT
