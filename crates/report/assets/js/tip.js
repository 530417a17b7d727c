// Tooltip of the element that is pointed at or has the focus. Its text equals the element's label, so it is hidden from screen readers.
const tip = h("div", { class: "tip", "aria-hidden": "true" });
tip.hidden = true;

function showTip(target, title, lines) {
  tip.replaceChildren(h("b", null, title), "\n" + lines.join("\n"));
  tip.hidden = false;
  const r = target.getBoundingClientRect(),
    width = tip.offsetWidth,
    height = tip.offsetHeight;
  const left = clamp(r.left + r.width / 2 - width / 2, 4, document.documentElement.clientWidth - width - 4);
  const above = r.top - height - 6;
  tip.style.left = left + scrollX + "px";
  tip.style.top = (above > 4 ? above : r.bottom + 6) + scrollY + "px";
}

const hideTip = () => {
  tip.hidden = true;
};

// Shapes with tooltips: by pointer, by focus, and with arrow keys from one to the next (one stop of the Tab key).
function explain(root, items) {
  items.forEach(({ node, title, lines, enter }, i) => {
    node.setAttribute("data-hit", "");
    node.setAttribute("tabindex", i ? -1 : 0);
    node.setAttribute("role", "img");
    node.setAttribute("aria-label", title + ": " + lines.join(", "));
    const on = () => {
      if (enter) enter();
      showTip(node, title, lines);
    };
    node.addEventListener("pointerenter", on);
    node.addEventListener("pointerleave", hideTip);
    node.addEventListener("focus", on);
    node.addEventListener("blur", hideTip);
    node.addEventListener("keydown", e => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
      if (e.key === "Escape") hideTip();
      if (!step) return;
      e.preventDefault();
      const next = items[(i + step + items.length) % items.length].node;
      node.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    });
  });
}
