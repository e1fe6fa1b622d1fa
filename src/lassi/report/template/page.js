"use strict";
// A person's sliders choose a point of the grid: its picture, what each model says there, and the cursor in the chart.
const gallery = JSON.parse(document.getElementById("gallery-data").textContent);

// What is folded away on the screen is printed, too.
window.addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});

for (const figure of document.querySelectorAll(".person")) {
  const person = gallery[figure.dataset.part][figure.dataset.person];
  const sliders = [...figure.querySelectorAll("input[type=range]")];
  const picture = figure.querySelector(".picture");
  const rows = [...figure.querySelectorAll("[data-model]")];
  const cursor = figure.querySelector(".cursor");
  const note = figure.querySelector(".outside");
  const half = (person.steps - 1) / 2;

  function show() {
    const places = sliders.map((slider) => Number(slider.value));
    const t = places.map((place) => ((place - half) / half) * person.radius);
    const index = places.reduce((sum, place) => sum * person.steps + place, 0);
    const column = index % person.columns;
    const row = Math.floor(index / person.columns);
    picture.style.backgroundPosition = `${-column * picture.clientWidth}px ${-row * picture.clientHeight}px`;
    const told = [];
    sliders.forEach((slider, i) => {
      const value = (t[i] > 0 ? "+" : "") + t[i].toFixed(2);
      slider.setAttribute("aria-valuetext", value);
      slider.parentElement.querySelector("output").textContent = value;
      told.push(`${slider.dataset.name} ${value}`);
    });
    picture.setAttribute("aria-label", `Similar picture at ${told.join(", ")}`);
    rows.forEach((element, i) => {
      const model = person.models[i];
      const predicted = model.predicted[index];
      const says = element.querySelector(".says");
      says.textContent = predicted;
      says.classList.toggle("other", predicted !== model.own);
      element.querySelector(".margin").textContent = model.margins[index].toFixed(2);
    });
    if (cursor) {
      const left = Number(cursor.dataset.left);
      const right = Number(cursor.dataset.right);
      const x = left + (places[0] / (person.steps - 1)) * (right - left);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
    note.hidden = Math.hypot(...t) <= person.radius * 1.0001;
  }

  sliders.forEach((slider) => slider.addEventListener("input", show));
  window.addEventListener("resize", show);
  show();
}
