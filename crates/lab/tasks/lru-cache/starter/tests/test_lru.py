import pytest

from lru import LruCache


def test_the_least_recently_used_goes():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)


def test_a_key_is_stored_once():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("a", 2)
    assert len(cache) == 1


def test_capacity():
    with pytest.raises(ValueError):
        LruCache(0)
