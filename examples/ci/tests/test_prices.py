import unittest

from prices import total


class TotalTest(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(total([199, 301]), 500)

    def test_discount_is_rounded_half_up(self):
        self.assertEqual(total([150], discount_percent=1), 149)
        self.assertEqual(total([199], discount_percent=10), 179)


if __name__ == "__main__":
    unittest.main()
