import time


def retry(call, attempts=3):
    for attempt in range(attempts):
        try:
            return call()
        except:
            time.sleep(2 ** attempt)
