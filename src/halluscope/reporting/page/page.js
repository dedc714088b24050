"use strict";
// Foreign text is only inserted as text: by `make`, `textContent`, or properties of elements. It is never read as HTML.
const AT_ONCE = 20;  // cards that are shown at a time
const TOGETHER = 30;  // the most items of a group on one card
const FIRST = 1500, FURTHER = 20000;  // characters of a response, at first and with each click
const SHORT = 100;  // characters of a response to a question that is shown in little space
const WORST = 10, NAMES = 3;  // tiles of the worst items, and words on each
const QUESTION = 160;  // characters of a question on a tile
const BEFORE = 40, AFTER = 60;  // characters of a response on a tile, before its first error and after it
const SIGNS = { "-": "not asked", 0: "no", 1: "yes", "?": "unreadable" };

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

// Texts

const number = (count) => count.toLocaleString("en");
const chip = (text, kind) => make("span", { className: `chip ${kind}` }, text);

/** A piece of a text as [words, kind, what its mark says]; the last two are "" outside marks. */
const whole = (piece) => (typeof piece === "string" ? [piece, "", ""] : piece);
const textIn = (response) => response[0].map((piece) => whole(piece)[0]).join("");

/** The first part of a text, and a button that shows more of it. */
function textOf(pieces, className) {
  const text = make("p", { className });
  const left = pieces.map(whole).reverse();  // in reverse: the next piece is last
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
    const [words, kind, says] = left.pop();
    let end = words.length <= wanted * 1.2 ? words.length : wanted;
    if (end < words.length && /[\ud800-\udbff]/.test(words[end - 1])) end += 1;
    if (end < words.length) left.push([words.slice(end), kind, says]);
    text.append(says ? marked(words.slice(0, end), kind, says) : words.slice(0, end));
    wanted -= end;
  }
}

function marked(words, kind, says) {
  return make("mark", { className: kind, tabIndex: 0 }, words, make("span", { className: "hidden" }, ` (${says})`));
}

/** A few words of a response around its first error, or else its beginning. */
function excerptOf(response) {
  const pieces = response[0].map(whole);
  const first = pieces.findIndex(([, kind]) => kind === "bad");
  const excerpt = make("q", { className: "excerpt" });
  if (first < 0) {
    const text = textIn(response);
    excerpt.append(text.slice(0, BEFORE + AFTER), text.length > BEFORE + AFTER ? " …" : "");
    return excerpt;
  }
  const textOfPieces = (some) => some.map(([words]) => words).join("");
  const before = textOfPieces(pieces.slice(0, first)), after = textOfPieces(pieces.slice(first + 1));
  excerpt.append(
    before.length > BEFORE ? "… " : "",
    before.length > BEFORE ? before.slice(-BEFORE).replace(/^\S+\s/, "") : before,
    make("mark", { className: "bad" }, pieces[first][0].slice(0, AFTER)),
    after.length > AFTER ? after.slice(0, AFTER).replace(/\s\S+$/, "") : after,
    after.length > AFTER ? " …" : "",
  );
  return excerpt;
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

// What a mark says, while it is pointed at

const bubble = document.getElementById("says");
let toldMark = null;

function tell(mark) {
  toldMark = mark;
  bubble.hidden = !mark;
  if (!mark) return;
  bubble.textContent = mark.lastChild.textContent.slice(2, -1);
  const place = mark.getClientRects()[0], size = bubble.getBoundingClientRect();
  const above = place.top - size.height - 6;
  bubble.style.left = `${Math.max(8, Math.min(place.left, innerWidth - size.width - 8))}px`;
  bubble.style.top = `${above > 0 ? above : place.bottom + 6}px`;
}

const markOf = (event) => (event.target instanceof Element ? event.target.closest(".text mark") : null);
addEventListener("scroll", () => toldMark && tell(toldMark), { passive: true });

// A benchmark's report

const later = window.requestIdleCallback ?? ((run) => setTimeout(() => run({ timeRemaining: () => 5 }), 50));
const isBook = document.querySelector(".tabs") !== null;

/** Let a reader browse the items of a report. */
function browse(report) {
  const { suffix, number: place } = report.dataset;
  const byId = (id) => document.getElementById(id + suffix);
  const read = (id) => JSON.parse(byId(id).textContent);
  const index = read("index");
  const form = byId("filters"), list = byId("list");
  let view, found = [], shown = 0;

  // Reading chunks when they are needed

  const rowChunks = new Map();
  function rowOf(item) {
    const chunk = Math.floor(item / index.chunk.rows);
    if (!rowChunks.has(chunk)) rowChunks.set(chunk, read(`rows-${chunk}`));
    return rowChunks.get(chunk)[item % index.chunk.rows];
  }

  function pictureOf(place) {
    const chunk = Math.floor(place / index.chunk.pictures);
    return read(`pictures-${chunk}`)[place % index.chunk.pictures];
  }

  const wordsOf = [];  // per item: its id and question, and each run's response, in lower case
  function words(item) {
    return wordsOf[item] ??= lower(item);
  }
  function lower(item) {
    const [question, responses] = rowOf(item);
    const texts = responses.map((response) => response && textIn(response));
    return [`${index.ids[item]}\n${question}`, ...texts].map((text) => text?.toLowerCase() ?? "");
  }

  // While the browser is idle, all items are prepared for searching.
  let ready = 0;
  function prepare(time) {
    if (report.hidden) return;
    while (ready < index.ids.length && time.timeRemaining() > 3) words(ready++);
    if (ready < index.ids.length) later(prepare);
  }

  // What is known of a response: null where the run lacks the item

  const signsOf = (item, run) => index.signs[run][item];
  const errorsOf = (item, run) => (signsOf(item, run)?.[0] ?? []).map((error) => index.errors[error]);
  const badnessOf = (item, runs) => runs.reduce((sum, run) => sum + (signsOf(item, run)?.[4] ?? 0), 0);
  const imageOf = (item) => index.images[index.image[item]];
  const allRuns = index.runs.map((_, run) => run);
  const runsOf = (view) => (view.model ? [index.runs.indexOf(view.model)] : allRuns);

  /** "right" or "wrong"; null where the run lacks the item. */
  function was(item, run) {
    const signs = signsOf(item, run);
    return signs && (signs[0].length ? "wrong" : "right");
  }

  /** The classes of an outcome, such as "missed". */
  function classesOf(item, run, outcome) {
    const count = index.outcomes.length;
    const codes = signsOf(item, run)[1].filter((code) => index.outcomes[code % count] === outcome);
    return codes.map((code) => index.classes[Math.floor(code / count)]);
  }

  // Finding

  const units = [];  // items that are shown together
  const open = new Map();  // group -> its last unit
  index.groups.forEach((group, item) => {
    let unit = group === "" ? undefined : open.get(group);
    if (!unit || unit.length === TOGETHER) {
      units.push(unit = []);
      open.set(group, unit);
    }
    unit.push(item);
  });

  /** The tests that a response must pass, as functions of its item, its run, and its signs. */
  function tests(view) {
    const error = index.errors.indexOf(view.error), outcomes = index.outcomes.length;
    const cls = index.classes.indexOf(view.class), outcome = index.outcomes.indexOf(view.outcome);
    const isOfClass = (code) => cls < 0 || Math.floor(code / outcomes) === cls;
    const isOfOutcome = (code) => outcome < 0 || code % outcomes === outcome;
    const query = view.q.trim().toLowerCase();
    const all = [];
    if (view.item) all.push((item) => index.ids[item] === view.item);
    if (view.error === "+") all.push((item, run, signs) => signs[0].length > 0);
    else if (view.error === "-") all.push((item, run, signs) => signs[0].length === 0);
    else if (error >= 0) all.push((item, run, signs) => signs[0].includes(error));
    if (cls >= 0 || outcome >= 0) {
      all.push((item, run, signs) => signs[1].some((code) => isOfClass(code) && isOfOutcome(code)));
    }
    index.parts.forEach(([name, value], part) => {
      if (view[`part.${name}`] === value) all.push((item, run, signs) => signs[2].includes(part));
    });
    if (view.disputed) all.push((item, run, signs) => signs[3] === 1);
    if (view.unread) all.push((item, run, signs) => signs[5] === 1);
    if (query) all.push((item, run) => words(item)[0].includes(query) || words(item)[run + 1].includes(query));
    return all;
  }

  function find(view) {
    const runs = runsOf(view), all = tests(view), unitsFound = [];
    const wanted = allRuns.map((run) => [run, view[`was.${run}`]]).filter(([, value]) => value);
    const deciding = /^\d+$/.test(view.sort) ? [Number(view.sort)] : runs;  // whose errors decide the order
    const fits = (item, run) => {
      const signs = signsOf(item, run);
      return signs && all.every((test) => test(item, run, signs));
    };
    const isHit = (item) => wanted.every(([run, value]) => was(item, run) === value) && runs.some((run) => fits(item, run));
    for (const unit of units) {
      const hits = unit.filter(isHit);
      if (!hits.length) continue;
      unitsFound.push({ unit, hits, worst: Math.max(...hits.map((item) => badnessOf(item, deciding))) });
    }
    if (view.sort !== "order") unitsFound.sort((first, second) => second.worst - first.worst);
    return unitsFound;
  }

  // Showing

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
    const isShared = places.length === 1 && places[0] >= 0;
    const items = unit.map((item) => itemCard(item, runs, !isShared));
    const article = make("article", { className: isShared ? "card pictured" : "card", tabIndex: -1 });
    article.setAttribute("aria-label", `Item ${unit.map((item) => index.ids[item]).join(", ")}`.slice(0, 200));
    if (unit.length > 1) article.append(make("p", { className: "group" }, `${unit.length} items of ${index.groups[unit[0]]}`));
    if (isShared) article.append(picture(places[0], index.ids[unit[0]]));
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
    const [question, responses] = rowOf(item), id = index.ids[item];
    const head = make("header", {}, make("h3", {}, linkTo(id, id)), ...partsOf(item));
    const element = make("div", { className: "item" }, head);
    if (index.pictures[item] < 0 && imageOf(item) && imageOf(item) !== id) {
      head.append(make("span", { className: "tag" }, imageOf(item)));
    }
    if (question) element.append(...textOf([question], "question"));
    const areShort = responses.every((response) => !response || textIn(response).length <= SHORT);
    if (question && areShort) element.classList.add("short");
    if (pictured && index.pictures[item] >= 0) element.append(picture(index.pictures[item], id));
    const common = responses.find(Boolean)[1].filter(isCommon);
    if (common.length) element.append(factsOf(common));
    const there = runs.filter((run) => responses[run]);
    element.append(make("div", { className: "responses" }, ...there.map((run) => responseOf(item, run, responses[run]))));
    return element;
  }

  const isCommon = ([name]) => index.common.includes(name);  // the fact is the same for all models

  function linkTo(id, ...children) {
    return make("a", { href: `#${addressOf([["item", id]])}`, onclick: (event) => openItem(event, id) }, ...children);
  }

  function partsOf(item) {
    const signs = index.signs.find((ofRun) => ofRun[item])[item];
    return signs[2].map((part) => make("span", { className: "tag" }, index.parts[part].join(": ")));
  }

  function responseOf(item, run, [text, facts, votes]) {
    const signs = signsOf(item, run);
    const head = make("header", {}, ...errorsOf(item, run).map((error) => chip(error, "bad")));
    if (index.runs.length > 1) head.prepend(make("h4", {}, index.runs[run]));
    if (signs[3]) head.append(chip("judges disagree", "open"));
    const words = text.length ? textOf(text, "text") : [make("p", { className: "text none" }, "An empty response.")];
    const element = make("div", { className: "response" }, head, ...words);
    const own = facts.filter((fact) => !isCommon(fact));
    if (own.length) element.append(factsOf(own));
    if (votes.length) element.append(votesOf(votes, index.voters[run]));
    return element;
  }

  // The address holds the filters, so that a view can be shared.

  function addressOf(settings) {
    return new URLSearchParams(isBook ? [["report", place], ...settings] : settings);
  }

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
    const settings = Object.entries(view).filter(([, value]) => value !== "");
    const place = settings.length ? addressOf(settings) : `items${suffix}`;
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

  function openItem(event, item) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    form.reset();
    view = { ...fromForm(), item };
    toAddress("pushState");
    arrive();
  }

  function arrive() {
    show();
    byId("items").scrollIntoView();
    if (view.item) list.querySelector("article")?.focus({ preventScroll: true });
  }

  // The worst items, as tiles

  /** What is wrong with a response. */
  function whatIsWrong(item, run) {
    const invented = classesOf(item, run, "hallucinated"), missed = classesOf(item, run, "missed");
    const words = invented.length ? invented : missed;
    if (!words.length) return errorsOf(item, run).join(", ");
    const some = words.slice(0, NAMES).join(", ") + (words.length > NAMES ? ` and ${words.length - NAMES} more` : "");
    return `${invented.length ? "invented" : "missed"} ${some}`;
  }

  function tile(item, runs) {
    const id = index.ids[item], place = index.pictures[item];
    const [question, responses] = rowOf(item);
    const wrong = runs.filter((run) => was(item, run) === "wrong");
    const isMarked = (run) => responses[run][0].some((piece) => whole(piece)[1] === "bad");
    const quoted = wrong.find(isMarked) ?? wrong[0];  // the model whose words are shown
    const link = linkTo(id);
    if (place >= 0) {
      const [width, height] = index.sizes[place];
      link.append(make("img", { src: pictureOf(place), width, height, alt: "" }));
    } else if (question) link.append(make("span", { className: "named" }, question.slice(0, QUESTION)));
    link.append(make("b", {}, place < 0 && imageOf(item) ? imageOf(item) : id));
    for (const run of wrong) {
      const name = runs.length > 1 ? `${index.runs[run]}: ` : "";
      link.append(make("span", {}, name + whatIsWrong(item, run)));
      if (!question && run === quoted && responses[run][0].length) link.append(excerptOf(responses[run]));
    }
    return make("li", {}, link);
  }

  function showWorst(chosen = "") {
    const runs = chosen === "" ? allRuns : [Number(chosen)];
    const wrong = index.ids.map((_, item) => item).filter((item) => runs.some((run) => was(item, run) === "wrong"));
    wrong.sort((first, second) => badnessOf(second, runs) - badnessOf(first, runs));
    byId("tiles").replaceChildren(...wrong.slice(0, WORST).map((item) => tile(item, runs)));
    for (const button of byId("worst-of")?.children ?? []) button.setAttribute("aria-pressed", button.value === chosen);
  }

  byId("worst").hidden = !index.ids.some((_, item) => allRuns.some((run) => was(item, run) === "wrong"));
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
  for (const text of report.querySelectorAll(".drawing text")) {
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
    const runs = runsOf(view);
    const cell = (text) => `"${(/^[=+\-@＝＋－＠]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
    const columns = (name) => runs.map((run) => (index.runs.length > 1 ? `${index.runs[run]} ${name}` : name));
    const lines = [["id", "image", "question", ...columns("response"), ...columns("errors")]];
    for (const item of found.flatMap(({ hits }) => hits)) {
      const [question, responses] = rowOf(item);
      const texts = runs.map((run) => (responses[run] ? textIn(responses[run]) : ""));
      const errors = runs.map((run) => errorsOf(item, run).join("; "));
      lines.push([index.ids[item], imageOf(item), question, ...texts, ...errors]);
    }
    const file = new Blob([lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("")], { type: "text/csv" });
    const link = make("a", { href: URL.createObjectURL(file), download: "items.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });

  // Keys

  function walk(step) {
    const from = [...list.children].indexOf(document.activeElement?.closest(".list > article"));
    if (from + step >= list.children.length) more();
    const next = list.children[Math.max(from + step, 0)];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "start" });
  }

  list.addEventListener("pointerover", (event) => tell(markOf(event)));
  list.addEventListener("pointerleave", () => tell(null));
  list.addEventListener("focusin", (event) => tell(markOf(event)));
  list.addEventListener("focusout", () => tell(null));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", change);
  byId("reset").addEventListener("click", reset);
  byId("more").addEventListener("click", more);
  new IntersectionObserver(([seen]) => seen.isIntersecting && shown < found.length && more(), { rootMargin: "800px" }).observe(byId("more"));

  fromAddress();
  show();
  return {
    walk,
    search: () => form.elements.q.focus(),
    enter: () => later(prepare),
    follow: () => {
      fromAddress();
      arrive();
    },
    isOnItem: () => view.item !== "",
  };
}

// Reports: one is shown at a time

const reports = [...document.querySelectorAll(".report")];
const browsers = new Map();  // report -> what `browse` returned, once it was shown
let current;

function enter(report) {
  if (report === current) return;
  current = report;
  for (const other of reports) other.hidden = other !== report;
  for (const tab of document.querySelectorAll(".tabs a")) {
    if (tab.hash === `#${report.id}`) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (report.dataset.number === undefined) return;  // the overview has no items
  if (!browsers.has(report)) browsers.set(report, browse(report));
  browsers.get(report).enter();
}

const browser = () => browsers.get(current);

/** Go where the address says: to filters of a report, or to a place on the page. */
function follow() {
  const place = location.hash.slice(1);
  if (place.includes("=")) {
    const wanted = new URLSearchParams(place).get("report") ?? "0";
    const report = reports.find((report) => report.dataset.number === wanted);
    enter(report ?? current ?? reports[0]);
    browser()?.follow();
    return;
  }
  const element = document.getElementById(place);
  const report = element?.closest(".report");
  const wasHidden = report?.hidden;
  if (report) enter(report);
  if (report === element) scrollTo(0, 0);
  else if (wasHidden) element.scrollIntoView();
  const isAtItems = place === "" || element?.matches(".items");
  if (isAtItems && browser()?.isOnItem()) browser().follow();  // back from one item to all
}

const STEPS = { j: 1, k: -1 }, ARROWS = { ArrowDown: 1, ArrowUp: -1 };
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") tell(null);
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select") || !browser()) return;
  const step = STEPS[event.key] ?? (event.target.matches(".list > article") ? ARROWS[event.key] : undefined);
  if (step) browser().walk(step);
  else if (event.key === "/") browser().search();
  else return;
  event.preventDefault();
});

addEventListener("beforeprint", () => document.querySelectorAll(".fold").forEach((fold) => { fold.open = true; }));
addEventListener("hashchange", follow);

// In a frame whose srcdoc is the page, a link to a place on the page would open the document around the frame.
if (location.protocol === "about:") document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  location.hash = link.hash;
});

if (location.hash.length < 2) enter(reports[0]);
else follow();
if (!current) enter(reports[0]);
