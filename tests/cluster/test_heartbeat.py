"""Signs of life, with a time that the test decides."""

from tux.cluster.transport.heartbeat import HEARTBEAT, SILENCE, Activity, Deadline, Heartbeat


def test_a_sign_of_life_is_due_once_an_interval():
    heartbeat = Heartbeat(100.0)
    assert heartbeat.is_due(100.0), "the first one at once"
    assert not heartbeat.is_due(100.0 + 0.9 * HEARTBEAT)
    assert heartbeat.is_due(100.0 + HEARTBEAT)
    assert not heartbeat.is_due(100.0 + 1.5 * HEARTBEAT)


def test_a_member_is_silent_from_when_it_was_last_heard():
    heartbeat = Heartbeat(0.0)
    heartbeat.heard[1] = 10.0
    assert heartbeat.silence(1, 10.0 + SILENCE) == SILENCE
    assert heartbeat.silence(2, 10.0 + SILENCE) == 0, "one that was never heard has not begun"


def test_time_in_which_nobody_listened_is_nobodys_silence():
    heartbeat = Heartbeat(0.0)
    heartbeat.is_due(0.0)
    heartbeat.heard[1] = 0.0
    heartbeat.is_due(1000.0)
    assert heartbeat.silence(1, 1000.0) <= HEARTBEAT


def test_a_silence_that_is_forgiven_begins_anew():
    heartbeat = Heartbeat(0.0)
    heartbeat.heard[1] = 10.0
    heartbeat.forgive(10.0 + SILENCE)
    assert heartbeat.silence(1, 11.0 + SILENCE) == 1.0
    assert heartbeat.silence(2, 11.0 + SILENCE) == 0


def test_heartbeats_may_be_lost_but_come_in_order():
    heartbeat = Heartbeat(0.0)
    assert [heartbeat.is_new(1, number) for number in (0, 1, 5, 5, 2, 6)] == [
        True,
        True,
        True,
        False,
        False,
        True,
    ]
    assert heartbeat.is_new(2, 0), "each member has numbers of its own"


def test_who_computes_or_handles_messages_works():
    activity = Activity()
    assert activity.works() and activity.works(), "its main thread computes"
    activity.begin_wait()
    assert not activity.works()
    activity.handled += 1
    assert activity.works() and activity.works(), "in the midst of a message"
    activity.handled += 1
    assert activity.works(), "it has handled one since"
    assert not activity.works()
    activity.end_wait()
    assert activity.works()


def test_many_short_waits_are_one():
    """As of a launcher, which looks at its processes in between."""
    activity = Activity()
    for _ in range(3):
        activity.begin_wait()
        activity.end_wait()
        assert not activity.works()


def test_a_deadline_is_for_silence_not_for_work():
    heartbeat = Heartbeat(0.0)
    deadline = Deadline(3.0, heartbeat)
    for _ in range(100):
        deadline.count_wait(1.0)
        deadline.count_wait(1.0)
        assert deadline.left > 0
        heartbeat.work += 1
    for _ in range(4):
        deadline.count_wait(1.0)
    assert deadline.left == 0
