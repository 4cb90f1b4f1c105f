// A click on a heading of a table sorts its rows, by the values that the cells have in `data-v`.
document.addEventListener("click", event => {
  const button = event.target.closest("[data-sort]");
  if (!button) return;
  const head = button.closest("th"), table = button.closest("table"), body = table.tBodies[0];
  const falls = head.getAttribute("aria-sort") !== "descending";
  for (const other of table.querySelectorAll("th")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", falls ? "descending" : "ascending");
  const value = row => row.cells[button.dataset.sort].dataset.v;
  const order = (a, b) => isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
  const rows = [...body.rows].sort((a, b) => order(value(a), value(b)));
  body.append(...falls ? rows.reverse() : rows);
});
