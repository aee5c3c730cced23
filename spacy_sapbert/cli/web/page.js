
"use strict";
// Show one card at a time: that of the mention under the pointer or in focus. Without this script, all cards are visible.
const cards = [...document.querySelectorAll(".card")];
const mentions = [...document.querySelectorAll("a.mention")];
const steps = document.querySelector("nav");
let current = 0;

function show(index) {
  current = (index + cards.length) % cards.length;
  const id = cards[current].id;
  cards.forEach((card) => card.classList.toggle("current", card.id === id));
  mentions.forEach((mention) => mention.classList.toggle("current", mention.hash === "#" + id));
  steps.querySelector("span").textContent = `${current + 1} of ${cards.length}`;
}

function indexOf(mention) {
  return cards.findIndex((card) => "#" + card.id === mention.hash);
}

if (cards.length) {
  document.documentElement.classList.add("js");
  steps.hidden = false;
  const [previous, next] = steps.querySelectorAll("button");
  previous.addEventListener("click", () => show(current - 1));
  next.addEventListener("click", () => show(current + 1));
  for (const mention of mentions) {
    let waiting;
    // wait, because a pointer can cross other mentions on its way to the card
    mention.addEventListener("mouseenter", () => { waiting = setTimeout(() => show(indexOf(mention)), 120); });
    mention.addEventListener("mouseleave", () => clearTimeout(waiting));
    mention.addEventListener("focus", () => show(indexOf(mention)));
    mention.addEventListener("click", (event) => {
      event.preventDefault();
      show(indexOf(mention));
      // with the keyboard, focus the card; otherwise Tab would go through all other mentions first
      if (event.detail === 0) cards[current].focus();
    });
  }
  document.querySelector(".cards").addEventListener("keydown", (event) => {
    if (event.key === "Escape") mentions.find((mention) => mention.classList.contains("current")).focus();
  });
  show(Math.max(0, cards.findIndex((card) => "#" + card.id === location.hash)));
}

const form = document.querySelector("form");
const button = form.querySelector("button");
const idle = button.textContent;
form.addEventListener("submit", () => {
  button.disabled = true;
  button.textContent = "Linking…";
});
// the browser can return to this page in its old state
window.addEventListener("pageshow", () => {
  button.disabled = false;
  button.textContent = idle;
});
document.querySelector("#text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(button);
});
