// Sortable tables: a click on a head sorts by the numeric value of the cells, if any, else by text; a second click reverses the order.
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells],
    body = table.tBodies[0];
  const key = (row, c) => {
    const cell = row.cells[c];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
  };
  const order = (a, b) => {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
    return typeof a === "number" ? -1 : 1;
  };
  heads.forEach((head, c) => {
    const label = head.textContent;
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].sort((a, b) => order(key(a, c), key(b, c)));
      body.append(...(up ? rows : rows.reverse()));
    };
    head.replaceChildren(h("button", { type: "button", title: "Sort by " + label, onclick: sort }, label));
  });
}
for (const table of document.querySelectorAll("table.sorted")) sortable(table);
