"""A real JupyterLab or Notebook server, and a real Chromium looking at it."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
from waiting import LIMIT, until

CHROMIUM_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def write_notebook(path: Path, cells: list[str]) -> None:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, path)


@contextlib.contextmanager
def server(root: Path, folder: Path, app: str = "lab") -> Iterator[str]:
    """`jupyter lab` (or `notebook`) on 127.0.0.1 with settings of its own; yields its address."""
    env = dict(os.environ)
    for kind in ("CONFIG", "DATA", "RUNTIME"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        env[f"JUPYTER_{kind}_DIR"] = str(folder / kind)
    env["IPYTHONDIR"] = str(folder / "ipython")
    command = [
        sys.executable, "-m", f"jupyter{'lab' if app == 'lab' else '_server'}",
        "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        "--IdentityProvider.token=t", f"--ServerApp.root_dir={root}",
        "--ServerApp.port_retries=100",
    ]  # fmt: skip
    if app == "notebook":
        command[2] = "notebook"
    log = (folder / "server.log").open("w")
    process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, cwd=root)
    try:
        until(lambda: _address(folder, process), pause=lambda: time.sleep(0.25))
        yield _address(folder, process)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LIMIT)
        process.kill()
        log.close()


def _address(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the server answers: what it writes down, as another may have taken the port it tried
    first. Empty until then."""
    if process.poll() is not None:
        raise RuntimeError(f"the server ended: {(folder / 'server.log').read_text()[-2000:]}")
    for written in (folder / "RUNTIME").glob("jpserver-*.json"):
        with contextlib.suppress(OSError, ValueError):  # it is being written, or not yet listening
            address = json.loads(written.read_text())["url"].rstrip("/")
            with urllib.request.urlopen(f"{address}/api/status?token=t", timeout=LIMIT) as answer:
                json.load(answer)
            return str(address)
    return ""


@dataclass
class Watched:
    """A page, and the requests that it tried to make to anywhere else: all aborted."""

    page: Any
    elsewhere: list[str] = field(default_factory=list)


def violations(page: Any, within: str) -> list[str]:
    """What axe finds wrong with a part of a page, by the rules of WCAG and by good practice."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, within).response["violations"]
    return [f"{v['id']}: {node['html'][:200]}" for v in found for node in v["nodes"]]


@contextlib.contextmanager
def offline() -> Iterator[Any]:
    """A page of a browser that reaches nothing."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launch = playwright.chromium.launch
        chrome = launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        page = chrome.new_context(offline=True, viewport={"width": 1100, "height": 900}).new_page()
        try:
            yield page
        finally:
            chrome.close()


@contextlib.contextmanager
def browser(address: str, scale: int = 1) -> Iterator[Watched]:
    """A page that reaches this server alone, with so many pixels a pixel."""
    from playwright.sync_api import sync_playwright

    host = urlsplit(address).netloc
    with sync_playwright() as playwright:
        launch = playwright.chromium.launch
        flags = {"args": CHROMIUM_FLAGS, "headless": True, "timeout": 1000 * LIMIT}
        chrome = launch(executable_path=chromium(), **flags)
        viewport = {"width": 1200, "height": 1000}
        context = chrome.new_context(viewport=viewport, device_scale_factor=scale)
        context.set_default_timeout(1000 * LIMIT)
        watched = Watched(context.new_page())

        def route(route: Any) -> None:
            url = urlsplit(route.request.url)
            if url.scheme in ("data", "blob") or url.netloc == host:
                route.continue_()
            else:
                watched.elsewhere.append(route.request.url)
                route.abort()

        context.route("**/*", route)
        try:
            yield watched
        finally:
            chrome.close()
