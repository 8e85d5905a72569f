"use strict";
// Owns: the box that tells of an operation, moving with the arrow keys, copying. Everything else works without it.

const tip = document.getElementById("tip");

function told(bar) {
  const list = document.createElement("dl");
  for (const [name, text] of JSON.parse(bar.dataset.facts)) {
    list.appendChild(document.createElement("dt")).textContent = name;
    list.appendChild(document.createElement("dd")).textContent = text;
  }
  return list;
}

function show(bar) {
  tip.replaceChildren(told(bar));
  tip.hidden = false;
  const at = bar.querySelector("rect").getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const isLow = at.bottom + size.height + 10 > innerHeight;
  tip.style.top = Math.max(4, isLow ? at.top - size.height - 8 : at.bottom + 8) + "px";
  tip.style.left = Math.max(4, Math.min(at.left, innerWidth - size.width - 8)) + "px";
}

function hide() {
  tip.hidden = true;
}

// The nearest bar in a direction: along the lane, or in the lane beside it.
function beside(bar, key) {
  const own = { x: +bar.dataset.x, y: +bar.dataset.y };
  const isAlong = key === "ArrowUp" || key === "ArrowDown";
  const sign = key === "ArrowDown" || key === "ArrowRight" ? 1 : -1;
  let best = null;
  let least = Infinity;
  for (const other of bar.closest("svg").querySelectorAll(".bar")) {
    const dx = +other.dataset.x - own.x;
    const dy = +other.dataset.y - own.y;
    const isThere = isAlong ? other.dataset.lane === bar.dataset.lane && sign * dy > 0 : sign * dx > 1;
    const far = isAlong ? Math.abs(dy) : Math.abs(dx) * 10 + Math.abs(dy);
    if (isThere && far < least) {
      best = other;
      least = far;
    }
  }
  return best;
}

for (const pane of document.querySelectorAll(".scroll")) {
  pane.addEventListener("mouseover", (event) => {
    const bar = event.target.closest(".bar");
    if (bar) show(bar);
  });
  pane.addEventListener("mouseout", hide);
  pane.addEventListener("focusin", (event) => {
    const bar = event.target.closest(".bar");
    if (bar) show(bar);
  });
  pane.addEventListener("focusout", hide);
  pane.addEventListener("scroll", hide);
  pane.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    if (!event.key.startsWith("Arrow")) return;
    const bar = event.target.closest(".bar");
    const next = bar ? beside(bar, event.key) : pane.querySelector(".bar.racing") || pane.querySelector(".bar");
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
}

for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    const word = button.textContent;
    getSelection().selectAllChildren(source);
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = "copied";
    } catch {
      // Where a browser keeps the clipboard from files, the text is selected and one key copies it.
      button.textContent = "selected: press Ctrl+C";
    }
    setTimeout(() => (button.textContent = word), 1500);
  });
}

// A long picture opens where the race is.
function centre(view) {
  const pane = view.querySelector(".scroll");
  const bars = [...view.querySelectorAll(".bar.racing, .bar.added")].map((bar) => bar.getBoundingClientRect());
  if (!bars.length) return;
  const top = Math.min(...bars.map((bar) => bar.top)) - pane.getBoundingClientRect().top + pane.scrollTop;
  pane.scrollTop = Math.max(0, top - pane.clientHeight / 3);
}

function centreAll() {
  document.querySelectorAll(".view").forEach((view) => view.clientHeight && centre(view));
}

centreAll();
document.addEventListener("change", centreAll);
document.addEventListener("toggle", centreAll, true);
