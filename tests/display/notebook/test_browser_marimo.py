"""The script that keeps a ledger up to date in marimo, in a browser."""

from typing import Any

import browser
import pytest

from dppandas.display.notebook.marimo_ledger import _SCRIPT

pytestmark = pytest.mark.browser

#: marimo's model of a widget, as its script knows it, and a place in a root of its own.
PAGE = """async (script) => {
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }))
  const { default: widget } = await import(address)
  const heard = new Set()
  window.model = {
    html: "", get: (name) => window.model[name],
    on: (name, hear) => heard.add(hear), off: (name, hear) => heard.delete(hear),
    set: (html) => { window.model.html = html; heard.forEach((hear) => hear()) },
    heard: () => heard.size,
  }
  const place = document.createElement("div")
  document.body.append(place)
  window.root = place.attachShadow({ mode: "open" })
  const el = document.createElement("div")
  window.root.append(el)
  window.end = widget.render({ model: window.model, el })
}"""


def ledger(left: int, earlier: int) -> str:
    rows = "".join(
        f"<details><summary>{name}</summary>rows</details>"
        for name in ("split: 2 releases", f"{earlier:,} earlier")
    )
    return f"<b>{left} left</b>{rows}"


def states(page: Any) -> Any:
    return page.evaluate(
        "() => [...window.root.querySelectorAll('details')].map((each) => each.open)"
    )


def test_what_a_reader_opened_stays_open_and_has_the_focus() -> None:
    with browser.offline() as page:
        page.goto("about:blank")
        page.evaluate(PAGE, _SCRIPT)
        show = lambda *said: page.evaluate("(html) => window.model.set(html)", ledger(*said))  # noqa: E731
        show(5, 999)
        assert page.locator("b").inner_text() == "5 left"
        assert states(page) == [False, False]
        page.locator("summary").nth(1).click()
        show(4, 1000)
        assert page.locator("b").inner_text() == "4 left"
        assert states(page) == [False, True], "though the words aren't quite the same"
        focused = "() => window.root.activeElement && window.root.activeElement.textContent"
        assert page.evaluate(focused) == "1,000 earlier"
        page.evaluate("() => window.end()")
        assert page.evaluate("() => window.model.heard()") == 0
