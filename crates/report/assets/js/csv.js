// The numbers of a chart as shown, in SI units, for a spreadsheet (RFC 4180).
function toCsv(rows) {
  const cell = v => {
    if (v == null) return "";
    if (typeof v === "number") return String(v);
    // Names that a spreadsheet would interpret as formulas stay text.
    const text = /^[=+\-@\t\r]/.test(v) ? "'" + v : v;
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  };
  return rows.map(r => r.map(cell).join(",") + "\r\n").join("");
}

function download(name, text) {
  const url = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  const a = h("a", { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
