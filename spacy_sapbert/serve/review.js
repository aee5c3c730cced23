"use strict";
// The review page: it shows one mention after the other, and sends each decision at once. Texts become text nodes only.
const $ = (id) => document.getElementById(id);
const windowId = (sessionStorage.window ??= Math.random().toString(36).slice(2));
const labels = JSON.parse(document.body.dataset.labels);
const seen = []; // the mentions that this window showed, for going back
const made = []; // the corrections of this window, for undoing
const STILL_MARKING = "A text is chosen. First mark it with Enter, or cancel with Esc.";
const SYNONYMS = 6; // the most that are shown
let view = null; // the mention on the page
let marking = null; // while a mention is marked: the words of the text, and the first and last chosen one
let adding = null; // while its concept is searched: where the new mention is
let chosen = []; // the concepts of a composite, so far
let results = [];
let active = 0;
let busy = false;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

// a text of others, which must not change the direction of the page around it
const isolated = (text) => element("bdi", { textContent: text });

async function ask(path, body) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, options || {});
  } catch {
    throw new Error("The server does not answer. Start it again: nothing that was decided is lost.");
  }
  const content = await answer.json().catch(() => ({}));
  if (content.error && content.view) show(content, false); // what another window decided meanwhile
  if (!answer.ok) throw new Error(content.error || `The server answered with status ${answer.status}.`);
  return content;
}

function say(text, isError = false) {
  $("said").textContent = text;
  $("said").classList.toggle("error", isError);
}

// One request after the other: a second key must not decide a mention that is not on the page yet.
async function once(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  } finally {
    busy = false;
  }
}

// --- what is on the page

function show(answer, keep = true) {
  showProgress(answer.progress);
  stopMarking();
  const next = answer.view;
  $("done").hidden = Boolean(next);
  document.querySelector("main").hidden = !next;
  if (view && next && keep && view.number !== next.number) seen.push(view.number);
  if (view && !next && keep) seen.push(view.number);
  view = next;
  if (!view) return;
  document.title = `${view.text} – Review links`;
  $("card").className = `card c${view.color}`;
  $("label").textContent = view.label;
  $("mention").replaceChildren(isolated(view.text));
  $("doc-id").replaceChildren("Document ", isolated(view.doc_id));
  $("comment").value = "";
  showState();
  $("links").replaceChildren(...view.links.map(linkCard));
  $("candidates").replaceChildren(...view.candidates.map(candidate));
  $("candidates-title").hidden = !view.candidates.length;
  $("places").hidden = !view.snippets.length;
  $("places").querySelector("ul").replaceChildren(...view.snippets.map(place));
  showText();
}

function showProgress(progress) {
  $("progress").max = progress.mentions || 1;
  $("progress").value = progress.decided;
  const texts = progress.texts === 1 ? "1 text" : `${progress.texts.toLocaleString("en")} texts`;
  $("progress-text").textContent =
    `${progress.decided.toLocaleString("en")} of ${progress.mentions.toLocaleString("en")} mentions decided, ${texts} left`;
  $("recent").hidden = !progress.recent.length;
  $("recent").querySelector("ul").replaceChildren(...progress.recent.map(correction));
}

function described(one) {
  const words = { accept: "accepted", replace: "replaced", reject: "rejected", no_mention: "not a mention", add: "added", flag: "flags mended" };
  if (one.action === "covered") return "an added mention takes its place";
  const concepts = (one.flags ? [one.flags.join(", ") || "none"] : one.concepts.map((concept) => `${concept.name} (${concept.id})`)).join(" + ");
  const by = one.author ? ` by ${one.author}` : "";
  const where = { occurrence: "this place", corpus: "these documents", everywhere: "all documents" }[one.scope];
  const when = new Date(one.date).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  return `${words[one.action]}${concepts && `: ${concepts}`}${by}, ${when}, for ${where}${one.comment && ` – ${one.comment}`}`;
}

function correction(one) {
  const undo = element("button", { type: "button", className: "plain", textContent: "Undo" });
  undo.setAttribute("aria-label", `Undo the correction of ${one.text}`);
  undo.addEventListener("click", () => undoCorrection(one.number));
  return element("li", {}, element("span", {}, element("b", {}, isolated(one.text)), " ", isolated(described(one))), undo);
}

function showState() {
  const mentions = view.mentions === 1 ? "1 mention" : `${view.mentions} mentions in ${view.documents} document${view.documents === 1 ? "" : "s"}`;
  $("state").className = view.decision ? "decided" : view.disagrees ? "disagrees" : "";
  $("state").replaceChildren(
    view.decision ? isolated(`Decided: ${described(view.decision)}`)
      : view.disagrees ? `This text was decided otherwise elsewhere. ${mentions}` : mentions);
  $("context").replaceChildren(isolated(contextOf(view)));
  $("flags").hidden = !view.all_flags.length;
  $("flags").replaceChildren(...view.all_flags.map(flagButton));
  $("doubts").hidden = !view.doubts.length;
  $("doubts").textContent = `Often wrong: ${view.doubts.join("; ")}`;
}

function contextOf(one) {
  const drug = [one.drug_state, one.dosage, one.value].filter(Boolean).join(", ");
  return [one.section && `Section: ${one.section}`, drug && `Drug: ${drug}`].filter(Boolean).join(" · ");
}

function flagButton(flag) {
  const button = element("button", { type: "button", className: "flag", textContent: flag });
  const isOn = view.flags.includes(flag);
  button.setAttribute("aria-pressed", String(isOn));
  button.addEventListener("click", () => mendFlags(isOn ? view.flags.filter((one) => one !== flag) : [...view.flags, flag], flag));
  return button;
}

function linked(one) {
  return one.url ? element("a", { href: one.url, target: "_blank", rel: "noreferrer", textContent: one.id }) : isolated(one.id);
}

function linkCard(link) {
  const concept = link.concept;
  const parts = [];
  if (link.split) parts.push(element("h3", {}, isolated(link.text)));
  parts.push(element("p", { className: "name" }, isolated(link.is_linked ? concept.name : "Not linked")));
  if (!link.is_linked && link.reason) parts.push(element("p", { className: "why" }, isolated(link.reason)));
  if (concept) {
    const types = concept.types.map((type) => ` · ${type}`).join("");
    const best = link.is_linked ? "" : `Best candidate: ${concept.name} `;
    parts.push(element("p", { className: "id" }, isolated(best), linked(concept), isolated(types)));
    if (concept.definition) parts.push(element("p", { className: "definition" }, isolated(concept.definition)));
    for (const [title, names] of [["Synonyms", synonyms(concept)], ["Parents", concept.parents]]) {
      if (names.length) parts.push(element("p", { className: "why" }, `${title}: `, isolated(names.join("; "))));
    }
  }
  parts.push(element("p", { className: "why" }, isolated(why(link))));
  return element("div", { className: link.is_linked ? "link" : "link nil" }, ...parts);
}

function synonyms(concept) {
  const more = concept.synonyms.length - SYNONYMS;
  return [...concept.synonyms.slice(0, SYNONYMS), ...(more > 0 ? [`${more} more`] : [])];
}

function why(link) {
  const facts = [];
  if (link.long_form) facts.push(`short for ${link.long_form}`);
  if (link.name) facts.push(`matched name: ${link.name}`);
  if (link.score !== null) facts.push(`score ${link.score.toFixed(2)}`);
  if (link.probability !== null) facts.push(`probability ${link.probability.toFixed(2)}`);
  return [facts.join(", "), link.tie, ...(link.reasons || [])].filter(Boolean).join(". ");
}

function row(one, number) {
  const types = one.types.length ? ` · ${one.types.join(", ")}` : "";
  const matched = one.matched && one.matched !== one.name ? ` · ${one.matched}` : "";
  return [
    number ? element("kbd", { textContent: number }) : element("span"),
    element("span", {}, isolated(one.name), element("small", {}, isolated(`${one.id}${types}${matched}`))),
    element("span", { className: "score", textContent: one.score.toFixed(2) }),
  ];
}

function candidate(one, index) {
  const button = element("button", { type: "button" }, ...row(one, String(index + 1)));
  button.addEventListener("click", () => decide("replace", [one.id]).then(() => $("card").focus()));
  return element("li", {}, button);
}

function place(one) {
  const button = element("button", { type: "button", className: "plain" }, isolated(one.snippet));
  button.addEventListener("click", () => go(one.number));
  return element("li", {}, button, one.decided ? " ✓" : "");
}

function showText() {
  const pieces = [view.is_cut[0] ? "… " : "", ...view.pieces.map(piece), view.is_cut[1] ? " …" : ""];
  $("text").replaceChildren(...pieces);
  $("text").querySelector(".current")?.scrollIntoView({ block: "nearest" });
}

function piece(one) {
  if (one.state === undefined) return document.createTextNode(one.text);
  const classes = `mention c${one.color} ${one.state}${one.linked === false ? " nil" : ""}`;
  if (one.number === undefined) return element("span", { className: classes }, isolated(one.text));
  const isCurrent = one.number === view.number;
  // no <button>, which would not wrap as the words of a text do
  const button = element("span", { className: isCurrent ? `${classes} current` : classes }, isolated(one.text));
  button.setAttribute("role", "button");
  if (isCurrent) button.setAttribute("aria-current", "true");
  button.tabIndex = -1; // the text is one stop of the Tab key
  button.addEventListener("click", () => { if (!hasSelection()) go(one.number); });
  return button;
}

// --- decisions

const next = () => ask(`next?window=${windowId}`);
const go = (number, keep = true) => once(async () => show(await ask(`mentions/${number}?window=${windowId}`), keep));

function decide(action, ids = []) {
  return once(async () => {
    const text = view.text;
    const instead = action === "reject" && view.links.length === 1 && view.candidates[0];
    const sent = { action, concept_ids: ids, seen: view.decision && view.decision.number, ...options() };
    const answer = await ask(`mentions/${view.number}/decision?window=${windowId}`, sent);
    made.push(answer.correction.number);
    say(`${text}: ${described(answer.correction)}${instead ? `. ${afterRejection(instead)}` : ""}`);
    show(answer);
  });
}

function mendFlags(flags, flag) {
  return once(async () => {
    const text = view.text;
    const sent = { action: "flag", flags, seen: view.decision && view.decision.number, ...options() };
    const answer = await ask(`mentions/${view.number}/decision?window=${windowId}`, sent);
    made.push(answer.correction.number);
    say(`${text}: ${described(answer.correction)}`);
    show(answer, false);
    [...$("flags").children].find((one) => one.textContent === flag)?.focus();
  });
}

// the linker goes on to the next candidate, at which nobody has looked
const afterRejection = (one) =>
  `The next candidate, ${one.name} (${one.id}), is linked if it is probable. Go back (K) to choose.`;

const options = () => ({ scope: $("scope").value, comment: $("comment").value });

function undoCorrection(number) {
  return once(async () => {
    const answer = await ask(`undo/${number}?window=${windowId}`, {});
    if (made.includes(number)) made.splice(made.indexOf(number), 1);
    say(answer.undone ? "The correction was undone." : "This correction was undone before.", !answer.undone);
    show(answer, false);
  });
}

function saveScope() {
  localStorage.scope = $("scope").value;
  say(`From now on, a decision holds for ${$("scope").selectedOptions[0].textContent}.`);
}

function changeScope() {
  const scope = $("scope");
  scope.selectedIndex = (scope.selectedIndex + 1) % scope.options.length;
  saveScope();
}

const actions = {
  accept: () => decide("accept"),
  reject: () => decide("reject"),
  no_mention: () => decide("no_mention"),
  replace: () => openSearch(null),
  later: () => once(async () => show(await ask(`next?window=${windowId}&later=${view.number}`))),
  back: () => (seen.length ? go(seen.pop(), false) : say("This is the first mention.")),
  undo: () => (made.length ? undoCorrection(made.at(-1)) : say("This window has made no correction.")),
  mark: () => startMarking(),
  "mark-done": () => finishMarking(),
  "mark-cancel": () => stopMarking(),
  help: () => $("help").showModal(),
  "search-done": () => finishSearch([]),
  "search-close": () => $("search").close(),
};
const needsMention = new Set(["accept", "reject", "no_mention", "replace", "later", "mark"]);
const keys = { a: "accept", r: "reject", n: "no_mention", f: "replace", "/": "replace", j: "later", k: "back", u: "undo", m: "mark", "?": "help" };

function act(name) {
  if (view || !needsMention.has(name)) actions[name]();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button) act(button.dataset.do);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape" || (event.key === "Enter" && event.target.id === "comment")) event.target.blur();
    return;
  }
  if (marking) return markingKey(event);
  const name = keys[event.key.toLowerCase()];
  const digit = /^[1-9]$/.test(event.key) && view?.candidates[event.key - 1];
  if (name) act(name);
  else if (digit) decide("replace", [digit.id]);
  else if (event.key.toLowerCase() === "s") changeScope();
  else if (event.key.toLowerCase() === "c" && view) $("comment").focus();
  else return;
  event.preventDefault();
});

// --- a missed mention

// Python counts characters, and JavaScript counts UTF-16 units.
const characters = (text) => [...text].length;

const shownText = () => view.pieces.map((one) => one.text).join("");
const wordsOf = (text) => [...text.matchAll(/[\p{L}\p{N}]+/gu)].map((word) => [word.index, word.index + word[0].length]);

function startMarking() {
  const text = shownText();
  const words = wordsOf(text);
  if (!words.length) return;
  const at = view.pieces.slice(0, view.pieces.findIndex((one) => one.number === view.number)).map((one) => one.text).join("").length;
  const first = Math.max(0, words.findIndex(([, end]) => end > at));
  marking = { text, words, anchor: first, focus: first };
  $("text").focus();
  showMarking();
}

function showMarking() {
  const { text, words, anchor, focus } = marking;
  const [first, last] = [Math.min(anchor, focus), Math.max(anchor, focus)];
  const [start, end] = [words[first][0], words[last][1]];
  marking.place = [start, end];
  const cursor = element("mark", { className: "cursor", textContent: text.slice(start, end) });
  $("text").replaceChildren(text.slice(0, start), cursor, text.slice(end));
  cursor.scrollIntoView({ block: "nearest" });
  $("marking").hidden = false;
  $("marked").textContent = `Chosen: ${text.slice(start, end)}`;
  say(`Chosen: ${text.slice(start, end)}`);
}

function markingKey(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8 }[event.key];
  if (step) {
    marking.focus = Math.min(Math.max(marking.focus + step, 0), marking.words.length - 1);
    if (!event.shiftKey) marking.anchor = marking.focus;
    showMarking();
  } else if (event.key === "Enter" && !event.target.closest("[data-do]")) finishMarking();
  else if (event.key === "Escape") {
    getSelection().removeAllRanges(); // of the pointer
    stopMarking();
    say("Nothing was marked.");
  } else if (keys[event.key.toLowerCase()] || /^[1-9]$/.test(event.key)) say(STILL_MARKING, true);
  else return;
  event.preventDefault();
}

function finishMarking() {
  clearTimeout(ending);
  if (!marking) return;
  const [start, end] = marking.place;
  const before = view.start + characters(marking.text.slice(0, start));
  const text = marking.text.slice(start, end);
  openSearch({ document: view.document, start: before, end: before + characters(text), text });
}

function stopMarking() {
  if (!marking) return;
  marking = null;
  $("marking").hidden = true;
  if (view) showText();
}

const hasSelection = () => String(getSelection()).trim() !== "";

// A text that is chosen with the pointer, widened to whole words. A press on "Mark it" can end the selection first.
let ending;
document.addEventListener("selectionchange", () => {
  if (!view || document.querySelector("dialog[open]")) return;
  clearTimeout(ending);
  const place = hasSelection() && selectedPlace(getSelection().getRangeAt(0));
  if (!place) {
    if (marking?.byPointer) ending = setTimeout(stopMarking, 400);
    return;
  }
  const text = shownText();
  marking = { text, words: [place], anchor: 0, focus: 0, place, byPointer: true };
  $("marking").hidden = false;
  $("marked").textContent = `Chosen: ${text.slice(...place)}`;
});
$("marking").addEventListener("mousedown", (event) => event.preventDefault());

function selectedPlace(range) {
  if (!$("text").contains(range.startContainer) || !$("text").contains(range.endContainer)) return null;
  const before = document.createRange();
  before.selectNodeContents($("text"));
  before.setEnd(range.startContainer, range.startOffset);
  const dots = view.is_cut[0] && !marking?.words[1] ? 2 : 0; // before the text, unless words are chosen with keys
  const start = String(before).length - dots;
  const end = start + String(range).length;
  const words = wordsOf(shownText()).filter((word) => word[0] < end && word[1] > start);
  return words.length ? [words[0][0], words.at(-1)[1]] : null;
}

// --- search

function openSearch(place) {
  adding = place;
  chosen = [];
  $("search-title").replaceChildren("Which concept is ", isolated(place ? place.text : view.text), "?");
  $("label-choice").hidden = !place || !labels.length;
  $("new-label").replaceChildren(...labels.map(([value, words]) => element("option", { value, textContent: words })));
  $("search").querySelector("[data-do=search-done]").hidden = !place;
  showChosen();
  $("search").showModal();
  $("query").value = place ? place.text : view.text;
  $("query").select();
  search();
}

function showChosen() {
  $("chosen").hidden = !chosen.length;
  $("chosen").textContent = `Chosen: ${chosen.map((one) => one.name).join(" + ")}. Enter without a text takes them.`;
}

let waiting;
let asked = 0;
let isSearching = false; // while the results are those of an earlier text
let taking = null; // whether the concept for several was meant, if Enter was pressed before the answer came
function search() {
  clearTimeout(waiting);
  const mine = (asked += 1);
  isSearching = true;
  taking = null;
  waiting = setTimeout(async () => {
    const by = document.querySelector("[name=by]:checked").value;
    try {
      const answer = await ask(`search?by=${by}&text=${encodeURIComponent($("query").value)}`);
      if (mine !== asked) return; // an earlier answer came later
      isSearching = false;
      results = answer.concepts;
      showResults(0);
      if (taking !== null) take(0, taking);
    } catch (error) {
      taking = null;
      $("preview").textContent = error.message;
    }
  }, 120);
}

function showResults(index) {
  active = results.length ? (index + results.length) % results.length : 0;
  $("found").replaceChildren(...results.map((one, number) => {
    const item = element("li", { id: `found-${number}` }, ...row(one, ""));
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", String(number === active));
    item.addEventListener("click", (event) => take(number, event.shiftKey));
    return item;
  }));
  $("query").setAttribute("aria-expanded", String(results.length > 0));
  if (results.length) $("query").setAttribute("aria-activedescendant", `found-${active}`);
  else $("query").removeAttribute("aria-activedescendant");
  $("found").children[active]?.scrollIntoView({ block: "nearest" });
  preview();
}

let previewed;
function preview() {
  clearTimeout(previewed);
  const one = results[active];
  const typed = $("query").value.trim();
  $("preview").textContent = one || !typed ? "" : "No concept has a name with these words. Try the search by meaning.";
  if (one) {
    previewed = setTimeout(async () => {
      const card = await ask(`concepts?id=${encodeURIComponent(one.id)}`).catch(() => null);
      if (card && results[active] === one) $("preview").textContent = card.definition || synonyms(card).join("; ");
    }, 150);
  }
}

function take(index, several) {
  taking = null;
  const one = results[index];
  if (several && one) {
    chosen.push(one);
    $("query").value = "";
    showChosen();
    results = [];
    showResults(0);
    $("query").focus();
  } else if (one || chosen.length) finishSearch([...chosen, ...(one ? [one] : [])].map((each) => each.id));
}

function finishSearch(ids) {
  $("search").close();
  if (!adding) return decide("replace", ids);
  const { document: key, start, end, text } = adding;
  stopMarking();
  return once(async () => {
    const sent = { document: key, start, end, concept_ids: ids, label: $("new-label").value, ...options() };
    const answer = await ask(`additions?window=${windowId}&number=${view.number}`, sent);
    made.push(answer.correction.number);
    say(`${text}: ${described(answer.correction)}`);
    show(answer, false);
  });
}

$("query").addEventListener("input", search);
$("query").addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") showResults(active + 1);
  else if (event.key === "ArrowUp") showResults(active - 1);
  else if (event.key === "Enter" && isSearching) taking = event.shiftKey;
  else if (event.key === "Enter") take(active, event.shiftKey);
  else if (event.key.toLowerCase() === "m" && event.ctrlKey) {
    const [byName, byMeaning] = document.querySelectorAll("[name=by]");
    (byName.checked ? byMeaning : byName).checked = true;
    search();
  } else return;
  event.preventDefault();
});
for (const choice of document.querySelectorAll("[name=by]")) choice.addEventListener("change", search);
$("search").addEventListener("close", () => {
  clearTimeout(waiting);
  asked += 1; // an answer that is still to come takes no concept
  stopMarking(); // after Esc, too, so that the keys decide again
  if (view) $("card").focus();
});

$("scope").value = localStorage.scope || "corpus";
$("scope").addEventListener("change", saveScope);
$("legend").replaceChildren(...labels.map(([, words, color]) =>
  element("span", {}, element("i", { className: `swatch c${color}` }), words)));
once(async () => show(await next()));
