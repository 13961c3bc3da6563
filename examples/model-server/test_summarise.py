import json
import os
import subprocess
import unittest
import urllib.error

from summarise import summarise


class SummariseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Any free port of this machine; the first line of the output has the address.
        command = ["marvin", "model-server", "--script", "replies.jsonl"]
        cls.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        address = json.loads(cls.server.stdout.readline())["address"]
        os.environ["OPENAI_BASE_URL"] = address + "/v1"
        os.environ["OPENAI_API_KEY"] = "none"

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.wait()
        cls.server.stdout.close()

    def test_title_is_stripped(self):
        self.assertEqual(summarise("Once there was a whale and a bowl of petunias."), "The Whale")

    def test_errors_of_the_provider_are_not_hidden(self):
        with self.assertRaises(urllib.error.HTTPError) as caught:
            summarise("overloaded")
        self.assertEqual(caught.exception.code, 429)
        caught.exception.close()


if __name__ == "__main__":
    unittest.main()
