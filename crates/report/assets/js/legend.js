
// Names of lines, bars and events with their symbols; each a button that hides what it names; numbers under the cursor beside it.
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

// A piece of line as it is drawn, with the subject's symbol.
function lineKey(subject, dash) {
  return svg("svg", { class: "mk " + colourClass(subject), viewBox: "0 -6 26 12", width: 26, height: 12, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 26, stroke: "var(--c)", "stroke-width": 2, "stroke-dasharray": DASHES[dash].join(" ") || null }),
    svg("use", { href: "#" + shapeId(subject), x: 13 }));
}

// items: { key, label, symbol (an element) }. `hidden` is a set of keys, kept by the caller. `toggled(item)` is called after a change.
function legend(items, hidden, toggled) {
  const values = new Map();
  const el = h("div", { class: "legend", role: "group", "aria-label": "Show or hide" }, ...items.map(item => {
    const value = h("span", { class: "val" });
    values.set(item.key, value);
    const button = h("button", { type: "button", "aria-pressed": String(!hidden.has(item.key)) },
      item.symbol, h("span", { class: "name", title: item.label }, item.label), value);
    button.addEventListener("click", () => {
      if (!hidden.delete(item.key)) hidden.add(item.key);
      button.setAttribute("aria-pressed", String(!hidden.has(item.key)));
      toggled(item);
    });
    return button;
  }));
  return { el, set: (key, text) => { const v = values.get(key); if (v && v.textContent !== text) v.textContent = text; } };
}
