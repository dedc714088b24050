"use strict";
const sheet = document.querySelector("main").dataset.sheet;
const key = `halluscope review ${sheet}`;
const data = JSON.parse(document.getElementById("data").textContent);
const rows = [...document.querySelectorAll("[data-row]")];  // articles, or rows in them
const buttons = (row) => [...row.querySelectorAll("button")];
const kept = document.getElementById("kept");

let said = {};  // row -> {mark, note}
try {
  said = JSON.parse(localStorage.getItem(key)) ?? {};
} catch {
  kept.textContent = "This browser cannot keep marks: save before you leave.";
}

function keep(row, change) {
  const number = row.dataset.row;
  said[number] = { ...said[number], ...change };
  try {
    localStorage.setItem(key, JSON.stringify(said));
  } catch {
    kept.textContent = "This browser cannot keep marks: save before you leave.";
  }
  show(row);
  count();
}

function show(row) {
  const { mark, note } = said[row.dataset.row] ?? {};
  if (mark) row.dataset.mark = mark;
  else delete row.dataset.mark;
  for (const button of buttons(row)) button.setAttribute("aria-pressed", String(button.dataset.mark === mark));
  const input = row.querySelector("input");
  if (input.value !== (note ?? "")) input.value = note ?? "";
}

function count() {
  const marked = rows.filter((row) => row.dataset.mark).length;
  document.getElementById("bar").value = marked;
  document.getElementById("count").textContent = `${marked} of ${rows.length}`;
}

function go(row) {
  if (!row) return;
  const from = document.activeElement.closest("article");
  row.focus({ preventScroll: true });
  const article = row.closest("article");
  article.style.scrollMarginTop = `${document.querySelector("header").offsetHeight + 16}px`;
  if (article === from) row.scrollIntoView({ block: "nearest" });
  else article.scrollIntoView({ block: "start" });
}

function mark(row, button) {
  const again = said[row.dataset.row]?.mark === button.dataset.mark;
  keep(row, { mark: again ? "" : button.dataset.mark });
}

// Suggestions complete the last name of a list: each repeats the text before the last comma.
const classes = document.getElementById("classes");
function suggest(input) {
  const before = input.value.slice(0, input.value.lastIndexOf(",") + 1);
  const option = (name) => Object.assign(document.createElement("option"), { value: before ? `${before} ${name}` : name });
  classes.replaceChildren(...data.classes.map(option));
}

// Puts an apostrophe before text that a spreadsheet would take for a formula; sheet.py says where, and removes it.
const guarded = (cell) => cell.replace(/(?:^|(?<=[,;|"\t\r\n]))(?=[' ]*[=+\-@\t\r\n＝＋－＠])/g, "'");
const quoted = (cell) => `"${cell.replaceAll('"', '""')}"`;

function csv() {
  const rows = data.rows.map((cells) =>
    cells.map((cell, i) => {
      const { mark = "", note = "" } = said[cells[data.columns.indexOf("row")]] ?? {};
      return { mark, note: guarded(note) }[data.columns[i]] ?? cell;
    }),
  );
  return [data.columns, ...rows].map((cells) => cells.map(quoted).join(",")).join("\r\n") + "\r\n";
}

for (const image of document.querySelectorAll("img")) image.src = data.pictures[image.dataset.picture];
for (const row of rows) {
  for (const button of buttons(row)) button.addEventListener("click", () => mark(row, button));
  const input = row.querySelector("input");
  input.addEventListener("input", () => keep(row, { note: input.value }));
  if (input.list) for (const event of ["focus", "input"]) input.addEventListener(event, () => suggest(input));
  show(row);
}
count();

document.getElementById("next").addEventListener("click", () => go(rows.find((row) => !row.dataset.mark)));
document.getElementById("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", csv()], { type: "text/csv" }));
  link.download = `${sheet}.csv`;
  link.click(); // its address stays valid: some browsers read it only after the click
});
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT") {
    if (event.key === "Enter") go(rows[rows.indexOf(event.target.closest("[data-row]")) + 1]);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = rows.indexOf(document.activeElement.closest("[data-row]"));
  const own = at >= 0 ? [...buttons(rows[at])] : [];
  const button = own.find((one) => one.dataset.mark === event.key)
    ?? (own[0]?.dataset.mark === "0" ? undefined : own[Number(event.key) - 1]);
  if (button) {
    if (said[rows[at].dataset.row]?.mark !== button.dataset.mark) mark(rows[at], button);
    const named = rows[at].querySelector("input[list]");
    if (named && button === buttons(rows[at])[1]) {
      event.preventDefault();
      named.focus();  // to name the other classes
    } else go(rows[at + 1]);
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    go(rows[Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), rows.length - 1)]);
  }
});
