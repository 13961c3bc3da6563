sys.path[:] = [place for place in sys.path if place and os.path.abspath(place) != os.getcwd()]
import pytest, unittest.case, unittest.result, doctest, pdb, difflib, xml.etree.ElementTree
import _pytest.junitxml, _pytest.main, _pytest.nodes, _pytest.python, _pytest.reports, _pytest.runner

MODULES = ["_pytest.junitxml", "_pytest.main", "_pytest.nodes", "_pytest.python", "_pytest.reports", "_pytest.runner"]
MODULES += ["unittest.case", "unittest.result"]


class Watch:
    before = after = None

    # Plugins of the project change the runner when they are loaded, which is before this.
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self):
        self.before = functions(MODULES)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self):
        self.after = changed(self.before, MODULES) if self.before is not None else None


end, watch, main = keep_process(), Watch(), pytest.main
sys.path.insert(0, os.getcwd())
sys.argv[0] = "pytest"
code = main(plugins=[watch])
if watch.after:
    refuse(end, watch.after)
sys.exit(code)
