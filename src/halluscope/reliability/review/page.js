"use strict";
const sheet = document.querySelector("main").dataset.sheet;
const key = `halluscope review ${sheet}`;
const data = JSON.parse(document.getElementById("data").textContent);
const articles = [...document.querySelectorAll("article")];
const buttons = (article) => [...article.querySelectorAll("button")];
const kept = document.getElementById("kept");

let said = {};  // row -> {mark, note}
try {
  said = JSON.parse(localStorage.getItem(key)) ?? {};
} catch {
  kept.textContent = "This browser keeps no marks: save before you leave.";
}

function keep(article, change) {
  const row = article.dataset.row;
  said[row] = { ...said[row], ...change };
  try {
    localStorage.setItem(key, JSON.stringify(said));
  } catch {
    kept.textContent = "This browser keeps no marks: save before you leave.";
  }
  show(article);
  count();
}

function show(article) {
  const { mark, note } = said[article.dataset.row] ?? {};
  if (mark) article.dataset.mark = mark;
  else delete article.dataset.mark;
  for (const button of buttons(article)) button.setAttribute("aria-pressed", String(button.dataset.mark === mark));
  const input = article.querySelector("input");
  if (input.value !== (note ?? "")) input.value = note ?? "";
}

function count() {
  const marked = articles.filter((article) => article.dataset.mark).length;
  document.getElementById("bar").value = marked;
  document.getElementById("count").textContent = `${marked} of ${articles.length}`;
}

function go(article) {
  if (!article) return;
  article.focus({ preventScroll: true });
  article.style.scrollMarginTop = `${document.querySelector("header").offsetHeight + 16}px`;
  article.scrollIntoView({ block: "start" });
}

function mark(article, button) {
  const again = said[article.dataset.row]?.mark === button.dataset.mark;
  keep(article, { mark: again ? "" : button.dataset.mark });
}

// What a spreadsheet would take for a formula gets an apostrophe in front; sheet.py says where, and takes it away.
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
for (const article of articles) {
  for (const button of buttons(article)) button.addEventListener("click", () => mark(article, button));
  article.querySelector("input").addEventListener("input", (event) => keep(article, { note: event.target.value }));
  show(article);
}
count();

document.getElementById("next").addEventListener("click", () => go(articles.find((article) => !article.dataset.mark)));
document.getElementById("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", csv()], { type: "text/csv" }));
  link.download = `${sheet}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
});
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const at = articles.indexOf(document.activeElement.closest("article"));
  const button = at >= 0 && buttons(articles[at])[Number(event.key) - 1];
  if (button) {
    if (said[articles[at].dataset.row]?.mark !== button.dataset.mark) mark(articles[at], button);
    go(articles[at + 1]);
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    go(articles[Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), articles.length - 1)]);
  }
});
