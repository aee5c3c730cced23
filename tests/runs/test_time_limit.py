import signal
import threading
import time

import pytest

from spacy_sapbert.runs.time_limit import TookTooLong, time_limit


def test_work_that_takes_too_long_ends():
    before = signal.getsignal(signal.SIGALRM)

    def component():
        try:
            time.sleep(60)
        except Exception:
            pytest.fail("a component could handle it as an error of its own")

    with pytest.raises(TookTooLong), time_limit(0.05):
        component()
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_work_in_time_and_errors_leave_nothing_behind():
    with time_limit(60):
        pass
    with pytest.raises(ZeroDivisionError), time_limit(60):
        raise ZeroDivisionError
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_other_threads_have_no_limit():
    done = []

    def work():
        with time_limit(0.001):
            done.append(sum(range(100_000)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
