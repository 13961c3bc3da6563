import sys
import threading

from counter import KeyedCounter


def test_one_thread():
    counter = KeyedCounter()
    assert counter.add("a") == 1
    assert counter.add("a", 4) == 5
    assert (counter.value("a"), counter.value("b"), counter.total()) == (5, 0, 5)
    assert counter.drain() == {"a": 5}
    assert counter.total() == 0


def test_many_threads():
    counter = KeyedCounter()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: [counter.add("k") for _ in range(2000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert counter.value("k") == 8000
