// Legend: names of lines, bars and events with their symbols, as buttons that hide them, with the values at the cursor.
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

// From this number of names on, the legend has columns and no space for values.
const MANY = 8;

// A short piece of the line, with the subject's symbol.
function lineKey(subject, dash) {
  return svg(
    "svg",
    { class: "mk " + colourClass(subject), viewBox: "0 -6 26 12", width: 26, height: 12, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 26, stroke: "var(--c)", "stroke-width": 2, "stroke-dasharray": DASHES[dash].join(" ") || null }),
    svg("use", { href: "#" + shapeId(subject), x: 13 }),
  );
}

// items: { key, label, symbol (an element), room }. `room` is the width in em that is reserved for the value, so that the layout is stable. `known`
// hides a name that an earlier panel shows; screen readers and pointers still find it. `hidden` is a set of keys, owned by the caller.
// `toggled()` is called after a change, `pointed(key)` when an item is pointed at or has the focus, with null otherwise.
function legend(items, hidden, toggled, pointed) {
  const values = new Map(),
    buttons = new Map();
  const el = h(
    "div",
    { class: items.length > MANY ? "legend many" : "legend", role: "group", "aria-label": "Show or hide" },
    ...items.map(item => {
      const value = h("span", { class: "val" });
      if (item.room && items.length <= MANY) value.style.minWidth = item.room + "em";
      values.set(item.key, value);
      const button = h(
        "button",
        { type: "button", title: item.label, "aria-pressed": String(!hidden.has(item.key)) },
        item.symbol,
        h("span", { class: item.known ? "sr" : "name" }, item.label),
        value,
      );
      buttons.set(item.key, button);
      if (pointed && items.length > 1)
        for (const [type, key] of [
          ["pointerenter", item.key],
          ["focus", item.key],
          ["pointerleave", null],
          ["blur", null],
        ])
          button.addEventListener(type, () => pointed(key));
      button.addEventListener("click", () => {
        if (!hidden.delete(item.key)) hidden.add(item.key);
        update();
        toggled();
      });
      return button;
    }),
  );
  const update = () => buttons.forEach((b, key) => b.setAttribute("aria-pressed", String(!hidden.has(key))));
  return {
    el,
    update,
    set: (key, text) => {
      const v = values.get(key);
      if (v && v.textContent !== text) v.textContent = text;
    },
  };
}
