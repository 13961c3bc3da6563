import unittest

from src.prices import total


class Prices(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(total([100, 250]), 350)

    def test_discount(self):
        self.assertEqual(total([1000], discount=10), 900)
