
"use strict";
// Show one card at a time. On a wide screen it stands beside the text, and a mention under the pointer or in focus shows
// its card. On a narrow screen the card is a sheet that a tap opens. Without this script, all cards are visible.
const cards = [...document.querySelectorAll(".card")];
const mentions = new Map([...document.querySelectorAll("a.mention")].map((mention) => [mention.hash.slice(1), mention]));
const places = new Map(cards.map((card, place) => [card.id, place]));
const sheet = document.querySelector(".cards");
const narrow = matchMedia("(max-width: 60rem)");
let current = null;

function mark(card, shown) {
  const mention = mentions.get(card.id);
  card.classList.toggle("current", shown);
  mention.classList.toggle("current", shown);
  mention.setAttribute("aria-expanded", shown && (!narrow.matches || sheet.classList.contains("open")));
}

function show(place) {
  if (current !== null) mark(cards[current], false);
  current = (place + cards.length) % cards.length;
  mark(cards[current], true);
  sheet.scrollTop = 0;
  sheet.querySelector(".steps span").textContent = `${current + 1} of ${cards.length}`;
}

function open(place) {
  sheet.classList.add("open");
  show(place);
  if (narrow.matches) uncover(mentions.get(cards[current].id));
}

// the sheet must not lie on the mention that it explains
function uncover(mention) {
  document.body.style.paddingBottom = `${sheet.offsetHeight + 16}px`;
  const { top, bottom } = mention.getBoundingClientRect();
  const limit = innerHeight - sheet.offsetHeight;
  if (bottom > limit - 8 || top < 0) scrollBy({ top: top - limit / 3 });
}

function close() {
  sheet.classList.remove("open");
  document.body.style.paddingBottom = "";
  if (current !== null) mark(cards[current], true);
}

function back() {
  close();
  if (current !== null) mentions.get(cards[current].id).focus();
}

function prepare(mention) {
  const place = places.get(mention.hash.slice(1));
  let waiting;
  mention.setAttribute("aria-controls", cards[place].id);
  mention.setAttribute("aria-expanded", false);
  // wait, because a pointer can cross other mentions on its way to the card
  mention.addEventListener("mouseenter", () => { if (!narrow.matches) waiting = setTimeout(() => show(place), 120); });
  mention.addEventListener("mouseleave", () => clearTimeout(waiting));
  mention.addEventListener("focus", () => { if (!narrow.matches) show(place); });
  mention.addEventListener("click", (event) => {
    event.preventDefault();
    open(place);
    // without a pointer, focus the card; otherwise Tab would go through all other mentions first
    if (event.detail === 0 || narrow.matches) cards[current].focus({ preventScroll: true });
  });
}

function step(by) {
  const start = document.activeElement.closest(".mention");
  const here = start ? places.get(start.hash.slice(1)) : current ?? -1;
  mentions.get(cards[(here + by + cards.length) % cards.length].id).focus();
}

const STEPS = { n: 1, ArrowRight: 1, p: -1, ArrowLeft: -1 };

if (cards.length) {
  document.documentElement.classList.add("js");
  document.querySelector(".keys").hidden = false;
  sheet.querySelector(".steps").hidden = false;
  mentions.forEach(prepare);
  const [previous, next, closing] = sheet.querySelectorAll(".steps button");
  previous.addEventListener("click", () => open(current - 1));
  next.addEventListener("click", () => open(current + 1));
  closing.addEventListener("click", back);
  document.querySelector(".read").addEventListener("keydown", (event) => {
    if (!(event.key in STEPS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    step(STEPS[event.key]);
  });
  document.addEventListener("keydown", (event) => {
    const inside = sheet.contains(document.activeElement) || (narrow.matches && sheet.classList.contains("open"));
    if (event.key === "Escape" && inside) back();
  });
  document.addEventListener("click", (event) => {
    if (narrow.matches && !event.target.closest(".cards, .mention")) close();
  });
  narrow.addEventListener("change", () => { close(); if (!narrow.matches) show(current ?? 0); });
  const asked = places.get(location.hash.slice(1));
  if (asked !== undefined) open(asked);
  else if (!narrow.matches) show(0);
}

const form = document.querySelector("form");
const button = form.querySelector("button");
const state = document.querySelector("#status");
const idle = [button.textContent, state.textContent];
form.addEventListener("submit", () => {
  button.disabled = true;
  state.textContent = "";
  button.textContent = "Linking…";
});
// the browser can return to this page in its old state
window.addEventListener("pageshow", () => {
  button.disabled = false;
  button.textContent = idle[0];
  // a screen reader reads only what changes after the page is there
  state.textContent = "";
  setTimeout(() => { state.textContent = idle[1]; }, 100);
});
document.querySelector("#text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(button);
});
