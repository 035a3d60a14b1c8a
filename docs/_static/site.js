// What is wider than its box scrolls; so that a keyboard can scroll it too, it can be focused.
const wide = () => {
  for (const box of document.querySelectorAll("pre, .math, .math-wrapper, .table-wrapper, .cell_output, .text_html, .output, .picture")) {
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls) box.tabIndex = 0; else box.removeAttribute("tabindex");
  }
};
addEventListener("load", wide);
addEventListener("resize", wide);
addEventListener("toggle", wide, true);
