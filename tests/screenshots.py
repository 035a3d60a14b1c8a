"""Pictures of all that people see, in every host, on both grounds, at three widths: for people.

``make screenshots PICTURES=folder``, outside of the checkout. Each thing has a folder, with a
picture a host, ground and width: counts/lab-dark-800.png. index.html shows them all. A host that
isn't installed is left out, with a word.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import textwrap
import time
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import browser
import nbformat
from waiting import until

ROOT = Path(__file__).parent.parent
GROUNDS = ("light", "dark")
WIDTHS = (1400, 800, 390)
#: Columns of a terminal.
COLUMNS = (140, 80, 40)
#: Parts of the docs site.
PAGES = (
    "index", "docs/how_do_i", "docs/plots", "docs/plots/summaries", "docs/pictures", "docs/ledger",
    "docs/operations", "docs/pandas", "docs/proofs/counts", "docs/api/functions",
)  # fmt: skip

#: What is shown, by name. A cell shows its last line.
SHOWN = {
    "ledger_live": """
        import numpy as np
        import pandas as pd
        import dppandas as dp
        place = np.arange(6000)
        df = pd.DataFrame({
            "educ": np.array([9, 12, 14, 16, 17, 20])[place * 7 % 6],
            "town": np.array(["Aldersgate", "Little Snoring", "München", "東京"])[place % 4],
            "smokes": place % 5 == 0,
            "age": place * 13 % 43 + 17,
            "income": place * 37 % 90_000,
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(place % 360, unit="D"),
        })
        dp.session(epsilon=20)""",
    "frame": """
        people = dp.protect(df, name="survey", domain={
            "educ": [9, 12, 14, 16, 17, 20], "town": list(df["town"].unique()),
            "age": (17, 60), "income": (0, 90_000), "seen": ("2024-01-01", "2025-01-01")})
        people""",
    "column": 'people["age"]',
    "groups": 'people.groupby("educ")',
    "unreleased": 'people["age"].mean()',
    "number": 'people["age"].mean(epsilon="0.1")',
    "time": 'people["seen"].mean(epsilon="0.1")',
    "counts": 'counts = people["educ"].value_counts(epsilon="0.1")\ncounts',
    "texts": 'people.groupby("town")["income"].mean(epsilon="0.01")',
    "table": 'people.groupby("educ")[["age", "income"]].mean(epsilon="0.2")',
    "crosstab": 'people.crosstab("educ", "town", epsilon="0.2")',
    "describe": 'people[["age", "income"]].describe(epsilon=1)',
    "quantiles": 'people["age"].quantile([0.1, 0.5, 0.9], epsilon="0.5")',
    "covariance": 'people[["age", "income"]].cov(epsilon=1)',
    "population": 'population = people.groupby("educ")["age"].mean(epsilon="0.5")\n'
    'dp.compare(population)',
    "many_keys": 'people["age"].value_counts(keys=range(17, 60), epsilon="0.5")',
    "ratio": 'dp.derive(lambda a: a / a.sum(), counts)',
    "test": """
        from dppandas import stats
        young, old = people.query("age < 40"), people.query("age >= 40")
        stats.ttest_ind(young["income"], old["income"], epsilon=1)""",
    "power": 'dp.stats.power("ttest_ind", effect=0.2, epsilon=1, power=0.8)',
    "ols": """
        model = dp.models.OLS.from_formula("income ~ age", people, epsilon=1)
        model.fit().summary()""",
    "posterior": 'dp.models.posterior(people["smokes"], "bernoulli", epsilon=1)',
    "synthetic": 'dp.synthesize(people[["educ", "smokes"]], rows=7, epsilon=1)',
    "provenance": "counts",
    "record": "dp.record(counts)",
    "preview": """
        with dp.preview() as plan:
            people["age"].mean(epsilon="0.1")
            people.groupby("town")["income"].sum(epsilon="0.3")
        plan""",
    "split": 'with dp.split(epsilon=1, into=3) as split:\n'
    '    people.count(), people["age"].mean(), people["age"].median()\nsplit',
    "refusal": 'people["agee"]',
    "short_budget": "people.count(epsilon=50)",
    "plot": "dp.plot(counts)",
    "plot_table": 'dp.plot(people.crosstab("educ", "town", epsilon="0.2"));',
    "plot_loss": "dp.privacy_loss(people['educ'].value_counts(), epsilon=1).plot();",
    "plot_tree": """
        tree = dp.models.DecisionTreeClassifier(2, epsilon=1)
        dp.models.plot_tree(tree.fit(people[["age", "income"]], people["educ"] > 12));""",
    "ledger": "dp.ledger()",
    "report": 'dp.ledger().export("report.html")',
    "ledger_frame": "dp.ledger().to_frame().head(8)",
}  # fmt: skip
#: Those that a host can't show in one way or another.
RAISING = ("refusal", "short_budget")


def source(name: str) -> str:
    return textwrap.dedent(SHOWN[name]).strip()


def write_notebook(path: Path) -> None:
    browser.write_notebook(path, list(map(source, SHOWN)))
    book = nbformat.read(path, 4)
    for name, cell in zip(SHOWN, book.cells, strict=True):
        cell.metadata["tags"] = ["raises-exception"] if name in RAISING else []
    nbformat.write(book, path)


class Folder:
    """Where the pictures are, and what is left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left_out: list[str] = []

    def of(self, name: str, host: str, ground: str, width: int) -> Path:
        path = self.path / name / f"{host}-{ground}-{width}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def leave_out(self, host: str, why: str) -> None:
        self.left_out.append(f"{host} is left out: {why}")
        print(self.left_out[-1], flush=True)

    def index(self) -> Path:
        """All pictures on a page, and what terminals show."""
        parts = [f"<p>{escape(said)}</p>" for said in self.left_out]
        for folder in sorted(path for path in self.path.iterdir() if path.is_dir()):
            parts.append(f"<h2>{folder.name}</h2>")
            for path in sorted(folder.iterdir()):
                link = f"{folder.name}/{path.name}"
                parts.append(f"<h3>{path.stem}</h3>")
                if path.suffix == ".png":
                    parts.append(f'<img loading="lazy" src="{link}" style="max-width:100%">')
                else:
                    parts.append(f"<pre>{escape(path.read_text('utf-8'))}</pre>")
        page = self.path / "index.html"
        page.write_text(f'<meta charset="utf-8">{"".join(parts)}', encoding="utf-8")
        return page


def take(tab: Any, cell: Callable[[int], str], host: str, ground: str, folder: Folder) -> None:
    """A picture of each cell at each width. `cell` selects one by its place."""
    tab.add_style_tag(content=".Toastify{display:none!important}")  # what JupyterLab itself tells
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 4000})
        tab.wait_for_timeout(1500)  # what follows the width is drawn anew
        for place, name in enumerate(SHOWN):
            found = tab.locator(cell(place))
            if found.count() and found.first.is_visible():  # some show nothing
                if name == "provenance":
                    found.locator("details").evaluate_all(
                        "each => each.map(one => one.open = true)"
                    )
                found.first.screenshot(path=folder.of(name, host, ground, width))


def jupyter(app: str, folder: Folder) -> None:
    """JupyterLab 4, or Notebook 7."""
    name = {"lab": "LabApp", "notebook": "JupyterNotebookApp"}[app]
    page = {"lab": "doc/tree", "notebook": "notebooks"}[app]
    with tempfile.TemporaryDirectory() as made:
        root, settings = Path(made) / "root", Path(made) / "server"
        root.mkdir()
        (settings / "CONFIG").mkdir(parents=True)
        (settings / "CONFIG" / f"jupyter_{app}_config.py").write_text(
            f"c.{name}.expose_app_in_browser = True\nc.LabApp.news_url = None\n"
        )
        write_notebook(root / "shown.ipynb")
        served = browser.server(root, settings, app)
        with served as address, browser.browser(address) as watched:
            tab = watched.page
            tab.set_viewport_size({"width": 1400, "height": 4000})
            tab.goto(f"{address}/{page}/shown.ipynb?token=t")
            cells = tab.locator(".jp-Notebook .jp-CodeCell")
            cells.first.wait_for()
            until(lambda: _is_idle(address), lambda: tab.wait_for_timeout(300))
            tab.wait_for_timeout(2000)
            _command(tab, "notebook:run-all-cells")
            last = cells.nth(len(SHOWN) - 1).locator(".jp-InputPrompt")
            ran = lambda: last.inner_text().strip("[]: ").isdigit()  # noqa: E731
            until(ran, lambda: tab.wait_for_timeout(300))
            for ground in GROUNDS:
                _command(tab, "apputils:change-theme", theme=f"JupyterLab {ground.title()}")
                light = str(ground == "light").lower()
                tab.wait_for_function(f"document.body.dataset.jpThemeLight === '{light}'")
                take(tab, _code_cell, app, ground, folder)


def _code_cell(place: int) -> str:
    return f".jp-CodeCell >> nth={place}"


def _command(tab: Any, name: str, **said: str) -> None:
    run = f"jupyterapp.commands.execute({name!r}, {json.dumps(said)}).then(() => 1)"
    with contextlib.suppress(Exception):
        tab.wait_for_function("window.jupyterapp !== undefined", timeout=20_000)
    tab.evaluate(f"() => {{ {run}; }}")


def _is_idle(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/api/kernels?token=t") as answer:
            return any(kernel["execution_state"] == "idle" for kernel in json.load(answer))
    except OSError:  # a kernel is starting
        return False


def nbconvert(folder: Folder) -> None:
    """A page that nbconvert writes, with a theme for each ground."""
    convert = [sys.executable, "-m", "jupyter", "nbconvert", "--log-level=ERROR"]
    with tempfile.TemporaryDirectory() as made, browser.offline() as tab:
        book = Path(made) / "shown.ipynb"
        write_notebook(book)
        subprocess.run([*convert, "--execute", "--inplace", book], check=True, cwd=made)
        for ground in GROUNDS:
            page = Path(made) / f"{ground}.html"
            said = ["--to", "html", "--theme", ground, "--output", page.name]
            subprocess.run([*convert, *said, book], check=True, cwd=made)
            tab.goto(page.as_uri())
            take(tab, _code_cell, "nbconvert", ground, folder)
        pages(tab, {"report_page": Path(made) / "report.html"}, "browser", folder)


def marimo(folder: Folder, python: str) -> None:
    """A notebook that marimo runs, with the theme of the system."""
    if subprocess.run([python, "-c", "import marimo"], capture_output=True).returncode:
        folder.leave_out("marimo", f"{python} has none")
        return
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "pyproject.toml").write_text('[tool.marimo.display]\ntheme = "system"\n')
        told = {name: textwrap.indent(source(name).rstrip(";"), "    ") for name in SHOWN}
        cells = "\n\n".join(
            f"@app.cell\ndef {name}():\n{lines}\n    return" for name, lines in told.items()
        )
        (Path(made) / "shown.py").write_text(f"import marimo\n\napp = marimo.App()\n\n{cells}\n")
        with _marimo(python, Path(made)) as address, browser.browser(address) as watched:
            for ground in GROUNDS:
                watched.page.emulate_media(color_scheme=ground)
                watched.page.goto(address)
                watched.page.locator(".marimo-cell").first.wait_for()
                watched.page.wait_for_timeout(15_000)
                take(watched.page, _marimo_cell, "marimo", ground, folder)


def _marimo_cell(place: int) -> str:
    return f'[data-cell-name="{list(SHOWN)[place]}"]'


@contextlib.contextmanager
def _marimo(python: str, made: Path) -> Iterator[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(made)}
    command = [python, "-m", "marimo", "run", "shown.py", "--headless", "--include-code"]
    said = ["--no-token", "--host", "127.0.0.1", "--port", "27184"]
    with (made / "log").open("w") as log:
        files = {"stdout": log, "stderr": log}
        process = subprocess.Popen([*command, *said], cwd=made, env=environment, **files)
        try:
            address = "http://127.0.0.1:27184"
            until(lambda: _answers(f"{address}/health"), lambda: time.sleep(0.3))
            yield address
        finally:
            process.terminate()
            process.wait()


def _answers(address: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(address):
        return True
    return False


#: IPython without a prompt: after each cell a line that ends it.
TERMINAL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
for name, source in json.loads(sys.argv[1]).items():
    shell.run_cell(source, store_history=True)
    print(f"\\n=== {name}", flush=True)
"""


def terminal(folder: Folder) -> None:
    """What a terminal shows, as text."""
    command = [sys.executable, "-c", TERMINAL, json.dumps(_cells_of_terminal())]
    for columns in COLUMNS:
        with tempfile.TemporaryDirectory() as made:
            shown = _typed(command, columns, made)
        for name in _cells_of_terminal():
            told, _, shown = shown.partition(f"=== {name}\n")
            path = folder.path / name / f"terminal-{columns}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(told.strip("\n") + "\n", encoding="utf-8")


def _cells_of_terminal() -> dict[str, str]:
    return {name: source(name) for name in SHOWN if not name.startswith("plot")}


def _typed(command: list[str], columns: int, folder: str) -> str:
    """What a command writes to a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "TERM": "xterm"}
    environment = {k: v for k, v in environment.items() if k not in ("COLUMNS", "LINES")}
    files = {"stdin": slave, "stdout": slave, "stderr": slave}
    process = subprocess.Popen(command, env=environment, cwd=folder, **files)
    os.close(slave)
    told = b""
    with contextlib.suppress(OSError):  # its end
        while piece := os.read(master, 65536):
            told += piece
    process.wait()
    os.close(master)
    return told.decode("utf-8", "replace").replace("\r\n", "\n")


def site(folder: Folder) -> None:
    """Pages of the docs site, if it is built."""
    built = ROOT / "build" / "docs"
    if not (built / "index.html").exists():
        folder.leave_out("docs", "the site isn't built: make docs")
        return
    with browser.offline() as tab:
        found = {f"docs_{Path(page).name}": built / f"{page}.html" for page in PAGES}
        pages(tab, found, "site", folder)


def pages(tab: Any, found: dict[str, Path], host: str, folder: Folder) -> None:
    """The beginning of pages that stand for themselves."""
    for ground in GROUNDS:
        tab.emulate_media(color_scheme=ground)
        for width in WIDTHS:
            tab.set_viewport_size({"width": width, "height": 1200})
            for name, path in found.items():
                tab.goto(path.as_uri())
                tab.screenshot(path=folder.of(name, host, ground, width))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="where to; else a temporary folder")
    parser.add_argument(
        "--marimo", default=sys.executable, type=os.path.abspath, help="a Python that has marimo"
    )
    parser.add_argument("--hosts", default="terminal,nbconvert,lab,notebook,marimo,site")
    asked = parser.parse_args()
    folder = Folder(asked.folder or Path(tempfile.mkdtemp(prefix="dppandas-pictures-")))
    if ROOT in folder.path.resolve().parents:
        parser.error("give a folder outside of the checkout, or none")
    folder.path.mkdir(parents=True, exist_ok=True)
    hosts: dict[str, Callable[[], None]] = {
        "terminal": lambda: terminal(folder),
        "nbconvert": lambda: nbconvert(folder),
        "lab": lambda: jupyter("lab", folder),
        "notebook": lambda: jupyter("notebook", folder),
        "marimo": lambda: marimo(folder, asked.marimo),
        "site": lambda: site(folder),
    }
    failed = False
    for name in asked.hosts.split(","):
        if name != "terminal" and browser.chromium() is None:
            folder.leave_out(name, "no chromium on the PATH: apt-get install chromium")
            continue
        try:
            hosts[name]()
        except ModuleNotFoundError as error:
            folder.leave_out(name, str(error))
        except Exception:
            traceback.print_exc()
            failed = True
    print(folder.index())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
