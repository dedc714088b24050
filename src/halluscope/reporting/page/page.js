"use strict";
// Foreign text is only inserted as text: by `make`, `textContent`, or properties of elements. It is never read as HTML.
const AT_ONCE = 20;  // cards that are shown at a time
const TOGETHER = 30;  // the most items of a group on one card
const FIRST = 1500, FURTHER = 20000;  // characters of a response, at first and with each click
const SHORT = 100;  // characters of a response to a question that is shown in little space
const WORST = 10, NAMES = 3;  // tiles of the worst items, and words on each
const SIGNS = { "-": "not asked", 0: "no", 1: "yes", "?": "unreadable" };

const byId = (id) => document.getElementById(id);
const read = (id) => JSON.parse(byId(id).textContent);
const index = read("index");
const form = byId("filters"), list = byId("list"), says = byId("says");

function make(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Reading chunks when they are needed

const kept = new Map();
function rowOf(item) {
  const chunk = Math.floor(item / index.chunk.rows);
  if (!kept.has(chunk)) kept.set(chunk, read(`rows-${chunk}`));
  return kept.get(chunk)[item % index.chunk.rows];
}

const pictureOf = (place) => read(`pictures-${Math.floor(place / index.chunk.pictures)}`)[place % index.chunk.pictures];

const wordsOf = [];  // per item: its id and question, and each run's response, in lower case
function words(item) {
  return wordsOf[item] ??= lower(item);
}
function lower(item) {
  const [question, each] = rowOf(item);
  const texts = each.map((said) => said && textIn(said));
  return [`${index.ids[item]}\n${question}`, ...texts].map((text) => text?.toLowerCase() ?? "");
}

// While the browser is idle, all items are prepared for searching.
const later = window.requestIdleCallback ?? ((run) => setTimeout(() => run({ timeRemaining: () => 5 }), 50));
let ready = 0;
function prepare(time) {
  while (ready < index.ids.length && time.timeRemaining() > 3) words(ready++);
  if (ready < index.ids.length) later(prepare);
}

// Finding

const units = [];  // items that are shown together
{
  const open = new Map();
  index.groups.forEach((group, item) => {
    let unit = group === "" ? undefined : open.get(group);
    if (!unit || unit.length === TOGETHER) {
      units.push(unit = []);
      open.set(group, unit);
    }
    unit.push(item);
  });
}

const runsOf = (view) => (view.model ? [index.runs.indexOf(view.model)] : index.runs.map((_, run) => run));

/** The tests that a row must pass, as functions of its item, its run, and its signs: errors, classes, parts, disputed, badness. */
function tests(view) {
  const error = index.errors.indexOf(view.error), of = index.outcomes.length;
  const cls = index.classes.indexOf(view.class), outcome = index.outcomes.indexOf(view.outcome);
  const wanted = (code) => (cls < 0 || Math.floor(code / of) === cls) && (outcome < 0 || code % of === outcome);
  const query = view.q.trim().toLowerCase();
  const all = [];
  if (view.item) all.push((item) => index.ids[item] === view.item);
  if (view.error === "+") all.push((item, run, signs) => signs[0].length > 0);
  else if (view.error === "-") all.push((item, run, signs) => signs[0].length === 0);
  else if (error >= 0) all.push((item, run, signs) => signs[0].includes(error));
  if (cls >= 0 || outcome >= 0) all.push((item, run, signs) => signs[1].some(wanted));
  index.parts.forEach(([name, value], part) => {
    if (view[`part.${name}`] === value) all.push((item, run, signs) => signs[2].includes(part));
  });
  if (view.disputed) all.push((item, run, signs) => signs[3] === 1);
  if (query) all.push((item, run) => words(item)[0].includes(query) || words(item)[run + 1].includes(query));
  return all;
}

const badness = (item, runs) => runs.reduce((sum, run) => sum + (index.signs[run][item]?.[4] ?? 0), 0);
const was = (item, run) => index.signs[run][item] && (index.signs[run][item][0].length ? "wrong" : "right");

function find(view) {
  const runs = runsOf(view), all = tests(view), found = [];
  const wanted = index.runs.map((_, run) => [run, view[`was.${run}`]]).filter(([, value]) => value);
  const by = /^\d+$/.test(view.sort) ? [Number(view.sort)] : runs;  // whose errors decide the order
  const fits = (item, run) => index.signs[run][item] && all.every((test) => test(item, run, index.signs[run][item]));
  const hit = (item) => wanted.every(([run, value]) => was(item, run) === value) && runs.some((run) => fits(item, run));
  for (const unit of units) {
    const hits = unit.filter(hit);
    if (hits.length) found.push({ unit, hits, worst: Math.max(...hits.map((item) => badness(item, by))) });
  }
  return view.sort === "order" ? found : found.sort((one, other) => other.worst - one.worst);
}

// Showing

let view, found = [], shown = 0, told = null;

function show() {
  found = find(view);
  shown = 0;
  tell(null);
  list.replaceChildren();
  more();
  const hits = found.reduce((sum, { hits }) => sum + hits.length, 0), all = index.ids.length;
  const items = all === 1 ? "item" : "items";
  byId("count").textContent = hits === all ? `${number(all)} ${items}` : `${number(hits)} of ${number(all)} ${items}`;
  byId("reset").hidden = hits === all;
  if (!hits) list.append(nothing());
}

function nothing() {
  const button = make("button", { type: "button", textContent: "Show all items", onclick: reset });
  return make("div", { className: "card empty" }, make("p", {}, "No items match."), button);
}

function more() {
  const next = found.slice(shown, shown + AT_ONCE);
  list.append(...next.map(({ unit }) => card(unit, runsOf(view))));
  shown += next.length;
  byId("more").hidden = shown >= found.length;
}

function card(unit, runs) {
  const places = [...new Set(unit.map((item) => index.pictures[item]))];
  const shared = places.length === 1 && places[0] >= 0;
  const items = unit.map((item) => itemCard(item, runs, !shared));
  const article = make("article", { className: shared ? "card pictured" : "card", tabIndex: -1 });
  article.setAttribute("aria-label", `Item ${unit.map((item) => index.ids[item]).join(", ")}`.slice(0, 200));
  if (unit.length > 1) article.append(make("p", { className: "group" }, `${unit.length} items of ${index.groups[unit[0]]}`));
  if (shared) article.append(picture(places[0], index.ids[unit[0]]));
  article.append(make("div", { className: "together" }, ...items));
  return article;
}

function picture(place, id) {
  const [width, height, credit] = index.sizes[place];
  const image = make("img", { src: pictureOf(place), width, height, alt: `Image of item ${id}`, decoding: "async" });
  const figure = make("figure", { className: "picture" }, image);
  if (index.credits[credit]) figure.append(make("figcaption", {}, index.credits[credit]));
  return figure;
}

function itemCard(item, runs, pictured) {
  const [question, each] = rowOf(item), id = index.ids[item];
  const link = make("a", { href: `#${new URLSearchParams({ item: id })}`, onclick: (event) => open(event, id) }, id);
  const head = make("header", {}, make("h3", {}, link), ...partsOf(item));
  const made = make("div", { className: "item" }, head);
  if (index.pictures[item] < 0 && imageOf(item) && imageOf(item) !== id) head.append(make("span", { className: "tag" }, imageOf(item)));
  if (question) made.append(...textOf([question], "question"));
  if (question && each.every((said) => !said || length(said) <= SHORT)) made.classList.add("short");
  if (pictured && index.pictures[item] >= 0) made.append(picture(index.pictures[item], id));
  const same = each.find(Boolean)[1].filter(isCommon);
  if (same.length) made.append(factsOf(same));
  const there = runs.filter((run) => each[run]);
  made.append(make("div", { className: "responses" }, ...there.map((run) => response(item, run, each[run]))));
  return made;
}

const isCommon = ([name]) => index.common.includes(name);  // the fact is the same for all models

function partsOf(item) {
  const signs = index.signs.find((of) => of[item])[item];
  return signs[2].map((part) => make("span", { className: "tag" }, index.parts[part].join(": ")));
}

function response(item, run, [text, facts, votes]) {
  const [errors, , , disputed] = index.signs[run][item];
  const head = make("header", {}, ...errors.map((error) => chip(index.errors[error], "bad")));
  if (index.runs.length > 1) head.prepend(make("h4", {}, index.runs[run]));
  if (disputed) head.append(chip("judges disagree", "open"));
  const said = text.length ? textOf(text, "text") : [make("p", { className: "text none" }, "An empty response.")];
  const made = make("div", { className: "response" }, head, ...said);
  const own = facts.filter((fact) => !isCommon(fact));
  if (own.length) made.append(factsOf(own));
  if (votes.length) made.append(votesOf(votes, index.voters[run]));
  return made;
}

const imageOf = (item) => index.images[index.image[item]];
const textIn = (said) => said[0].map((piece) => (typeof piece === "string" ? piece : piece[0])).join("");
const length = (said) => textIn(said).length;
const number = (count) => count.toLocaleString("en");
const chip = (text, kind) => make("span", { className: `chip ${kind}` }, text);

/** The first part of a text, and a button that shows more of it. */
function textOf(pieces, className) {
  const text = make("p", { className });
  const left = pieces.map((piece) => (typeof piece === "string" ? [piece, "", ""] : piece)).reverse();  // in reverse: the next piece is last
  take(text, left, FIRST);
  if (!left.length) return [text];
  const button = make("button", { type: "button", className: "further" });
  const name = () => {
    const count = left.reduce((sum, piece) => sum + piece[0].length, 0);
    const next = count > FURTHER ? `${number(FURTHER)} of the other` : "the other";
    button.textContent = `Show ${next} ${number(count)} characters`;
    button.hidden = !count;
  };
  button.onclick = () => {
    take(text, left, FURTHER);
    name();
  };
  name();
  return [text, button];
}

/** Move pieces into a text, up to about as many characters as are wanted; the last piece may be cut. */
function take(text, left, wanted) {
  while (left.length && wanted > 0) {
    const [words, kind, told] = left.pop();
    let end = words.length <= wanted * 1.2 ? words.length : wanted;
    if (end < words.length && /[\ud800-\udbff]/.test(words[end - 1])) end += 1;
    if (end < words.length) left.push([words.slice(end), kind, told]);
    text.append(told ? marked(words.slice(0, end), kind, told) : words.slice(0, end));
    wanted -= end;
  }
}

function marked(words, kind, told) {
  return make("mark", { className: kind, tabIndex: 0 }, words, make("span", { className: "hidden" }, ` (${told})`));
}

function factsOf(facts) {
  const rows = facts.flatMap(([name, values]) => [
    make("dt", {}, name),
    make("dd", {}, ...values.map(([value, kind]) => chip(value, kind))),
  ]);
  return make("dl", { className: "facts" }, ...rows);
}

function votesOf(votes, voters) {
  const cell = (name, text) => make(name, name === "th" ? { scope: "row" } : {}, text);
  const column = (voter) => make("th", { scope: "col" }, voter);
  const head = make("tr", {}, make("th", { scope: "col" }, "class"), ...voters.map(column));
  const rows = votes.map(([name, signs]) =>
    make("tr", {}, cell("th", name), ...[...signs].map((sign) => cell("td", SIGNS[sign] ?? sign))),
  );
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  const summary = make("summary", {}, `Votes on ${votes.length} ${votes.length === 1 ? "class" : "classes"}`);
  return make("details", { className: "votes" }, summary, make("div", { tabIndex: 0 }, table));
}

// The address holds the filters, so that a view can be shared.

function fromForm() {
  return { item: "", model: "", error: "", class: "", outcome: "", q: "", sort: "", ...Object.fromEntries(new FormData(form)) };
}

function fromAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const control of form.elements) {
    if (control.type === "checkbox") control.checked = wanted.has(control.name);
    else if (control.type === "radio") control.checked = control.value === (wanted.get(control.name) ?? "");
    else control.value = wanted.get(control.name) ?? "";
    if (control.selectedIndex < 0) control.value = "";
  }
  view = { ...fromForm(), item: wanted.get("item") ?? "" };
}

function toAddress(put = "replaceState") {
  const set = Object.entries(view).filter(([, value]) => value !== "");
  const place = set.length ? new URLSearchParams(set) : "items";
  try {
    history[put](null, "", `${location.href.split("#")[0]}#${place}`);
  } catch {
    // a page within a notebook may have no address
  }
}

function change() {
  view = fromForm();
  toAddress();
  show();
}

function reset() {
  form.reset();
  change();
  form.elements.q.focus();
}

function open(event, item) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  form.reset();
  view = { ...fromForm(), item };
  toAddress("pushState");
  arrive();
}

function follow() {
  const place = location.hash.slice(1);
  if (!place.includes("=") && !(view.item && ["", "items"].includes(place))) return;  // a place on the page
  fromAddress();
  arrive();
}

function arrive() {
  show();
  byId("items").scrollIntoView();
  if (view.item) list.querySelector("article")?.focus({ preventScroll: true });
}

// The worst items, as tiles

/** What is wrong with an item, in a line per model. */
function wrong(item, runs) {
  return runs.filter((run) => was(item, run) === "wrong").map((run) => {
    const [errors, codes] = index.signs[run][item], of = index.outcomes.length;
    const outcome = (name) => codes.filter((code) => index.outcomes[code % of] === name).map((code) => index.classes[Math.floor(code / of)]);
    const invented = outcome("hallucinated"), words = invented.length ? invented : outcome("missed");
    const some = words.slice(0, NAMES).join(", ") + (words.length > NAMES ? ` and ${words.length - NAMES} more` : "");
    const what = words.length ? `${invented.length ? "invented" : "missed"} ${some}` : errors.map((error) => index.errors[error]).join(", ");
    return runs.length > 1 ? `${index.runs[run]}: ${what}` : what;
  });
}

function tile(item, runs) {
  const id = index.ids[item], place = index.pictures[item];
  const link = make("a", { href: `#${new URLSearchParams({ item: id })}`, onclick: (event) => open(event, id) });
  if (place >= 0) {
    const [width, height] = index.sizes[place];
    link.append(make("img", { src: pictureOf(place), width, height, alt: "" }));
  } else if (rowOf(item)[0]) link.append(make("span", { className: "named" }, rowOf(item)[0].slice(0, 160)));
  link.append(make("b", {}, place < 0 && imageOf(item) ? imageOf(item) : id), ...wrong(item, runs).map((line) => make("span", {}, line)));
  return make("li", {}, link);
}

function showWorst(of = "") {
  const runs = of === "" ? index.runs.map((_, run) => run) : [Number(of)];
  const bad = index.ids.map((_, item) => item).filter((item) => runs.some((run) => was(item, run) === "wrong"));
  bad.sort((one, other) => badness(other, runs) - badness(one, runs));
  byId("tiles").replaceChildren(...bad.slice(0, WORST).map((item) => tile(item, runs)));
  for (const button of byId("worst-of")?.children ?? []) button.setAttribute("aria-pressed", button.value === of);
}

byId("worst").hidden = !index.ids.some((_, item) => index.runs.some((_, run) => was(item, run) === "wrong"));
showWorst();
byId("worst-of")?.addEventListener("click", (event) => event.target.matches("button") && showWorst(event.target.value));

// Ways to filter

for (const button of byId("crossed")?.children ?? []) {
  const [first, second] = button.dataset.was.split(",");
  const count = index.ids.filter((_, item) => was(item, 0) === first && was(item, 1) === second).length;
  button.lastElementChild.textContent = number(count);
  button.onclick = () => {
    form.elements["was.0"].value = first;
    form.elements["was.1"].value = second;
    change();
  };
}

/** The filter that the name of a class or group stands for. */
function filterOf(name) {
  if (index.classes.includes(name)) return ["class", name];
  const part = index.parts.find(([, value]) => value === name);
  return part && form.elements[`part.${part[0]}`] && [`part.${part[0]}`, name];
}
for (const text of document.querySelectorAll(".drawing text")) {
  const filter = filterOf(text.textContent.trim());
  if (!filter) continue;
  text.classList.add("link");
  text.addEventListener("click", () => {
    form.reset();
    form.elements[filter[0]].value = filter[1];
    change();
    byId("items").scrollIntoView();
  });
}

/** Save what is found as CSV; no spreadsheet takes a text for a formula. */
byId("save").addEventListener("click", () => {
  const runs = runsOf(view), cell = (text) => `"${(/^[=+\-@＝＋－＠]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const of = (name) => runs.map((run) => (index.runs.length > 1 ? `${index.runs[run]} ${name}` : name));
  const lines = [["id", "image", "question", ...of("response"), ...of("errors")]];
  for (const item of found.flatMap(({ hits }) => hits)) {
    const [question, each] = rowOf(item);
    const errors = runs.map((run) => (index.signs[run][item]?.[0] ?? []).map((error) => index.errors[error]).join("; "));
    lines.push([index.ids[item], imageOf(item), question, ...runs.map((run) => (each[run] ? textIn(each[run]) : "")), ...errors]);
  }
  const file = new Blob([lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("")], { type: "text/csv" });
  const link = make("a", { href: URL.createObjectURL(file), download: "items.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
});

addEventListener("beforeprint", () => document.querySelectorAll(".fold").forEach((fold) => { fold.open = true; }));

// Showing what a mark says

function tell(mark) {
  told = mark;
  says.hidden = !mark;
  if (!mark) return;
  says.textContent = mark.lastChild.textContent.slice(2, -1);
  const at = mark.getClientRects()[0], own = says.getBoundingClientRect();
  const above = at.top - own.height - 6;
  says.style.left = `${Math.max(8, Math.min(at.left, innerWidth - own.width - 8))}px`;
  says.style.top = `${above > 0 ? above : at.bottom + 6}px`;
}

const markOf = (event) => (event.target instanceof Element ? event.target.closest(".text mark") : null);
list.addEventListener("pointerover", (event) => tell(markOf(event)));
list.addEventListener("pointerleave", () => tell(null));
list.addEventListener("focusin", (event) => tell(markOf(event)));
list.addEventListener("focusout", () => tell(null));
addEventListener("scroll", () => told && tell(told), { passive: true });

// Keys

function walk(step) {
  const at = [...list.children].indexOf(document.activeElement?.closest("#list > article"));
  if (at + step >= list.children.length) more();
  const next = list.children[Math.max(at + step, 0)];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "start" });
}

const STEPS = { j: 1, k: -1 }, ARROWS = { ArrowDown: 1, ArrowUp: -1 };
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") tell(null);
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
  const step = STEPS[event.key] ?? (event.target.matches("#list > article") ? ARROWS[event.key] : undefined);
  if (step) walk(step);
  else if (event.key === "/") form.elements.q.focus();
  else return;
  event.preventDefault();
});

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", change);
byId("reset").addEventListener("click", reset);
byId("more").addEventListener("click", more);
new IntersectionObserver(([seen]) => seen.isIntersecting && shown < found.length && more(), { rootMargin: "800px" }).observe(byId("more"));
addEventListener("hashchange", follow);

// In a frame whose srcdoc is the page, a link to a place on the page would open the document around the frame.
if (location.protocol === "about:") document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  location.hash = link.hash;
});
fromAddress();
if (location.hash.includes("=")) arrive();
else show();
later(prepare);
