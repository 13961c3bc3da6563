import unittest

from slugs import slug


class SlugTest(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_punctuation(self):
        self.assertEqual(slug("What's new? A lot!"), "what-s-new-a-lot")


if __name__ == "__main__":
    unittest.main()
