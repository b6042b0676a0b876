// Sorting tables by a click on a heading. Everything is there to read without it.
document.documentElement.classList.add("js");
for (const head of document.querySelectorAll("th"))
  head.addEventListener("click", () => {
    const table = head.closest("table"), body = table.tBodies[0], at = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending", value = row => row.cells[at].textContent;
    const order = (a, b) => (parseFloat(a) - parseFloat(b)) || a.localeCompare(b, undefined, { numeric: true });
    const rows = [...body.rows].sort((a, b) => order(value(a), value(b)) * (down ? -1 : 1));
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  });
