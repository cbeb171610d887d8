"use strict";
// What pages need beyond htmx: parts that follow the fleet, and a chart of what they say. No part is made here: all HTML comes
// from the server, where it is escaped.
(() => {
  const KEPT = 600;

  function replace(place, html) {
    const active = document.activeElement, id = place.contains(active) ? active.id : "";
    place.innerHTML = html;
    if (id) document.getElementById(id)?.focus({ preventScroll: true });
  }

  function chartIn(place) {
    if (!place || !window.uPlot) return () => {};
    const names = place.dataset.chart.split(","), data = [[], ...names.map(() => [])];
    const colour = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    const line = (name, at) => ({ label: name, stroke: ["#b45309", "#0369a1"][at % 2], width: 2, points: { show: false } });
    const axis = { stroke: colour, grid: { show: false }, ticks: { show: false } };
    const size = () => ({ width: Math.max(200, place.clientWidth), height: 160 });
    // A minute at least, and nothing below 0: to one moment a chart adds years, and of nothing it would make up its own axes.
    const until = (from, to) => Math.max(Math.min(to, data[0].at(-1)), from + 60);
    const scales = { x: { range: (_, from, to) => [from, until(from, to)] }, y: { range: (_, from, to) => [0, Math.max(to, 1)] } };
    const options = () => ({ ...size(), scales, series: [{}, ...names.map(line)], axes: [axis, { ...axis, size: 60 }] });
    let chart = null;
    return figures => {
      data[0].push(Date.now() / 1000);
      names.forEach((name, at) => data[at + 1].push(figures[name]));
      if (data[0].length > KEPT) data.forEach(one => one.shift());
      if (chart) return chart.setData(data);
      chart = new window.uPlot(options(), data, place);
      new ResizeObserver(() => chart.setSize(size())).observe(place);
    };
  }

  function follow(place) {
    const draw = chartIn(document.querySelector("[data-chart]"));
    const source = new EventSource(place.dataset.live);
    source.onmessage = event => {
      const told = JSON.parse(event.data);
      if (told.html !== undefined) replace(place, told.html);
      if (told.line !== undefined) prepend(place, told.line);
      if (told.figures) draw(told.figures);
      if (told.error) tell(place, told.error);
    };
    addEventListener("pagehide", () => source.close());
  }

  function tell(place, text) {
    const line = document.createElement("p");
    line.setAttribute("role", "alert");
    line.textContent = text;
    place.prepend(line);
  }

  function prepend(place, html) {
    place.insertAdjacentHTML("afterbegin", html);
    while (place.children.length > KEPT) place.lastElementChild.remove();
  }

  addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-live]").forEach(follow));
  // htmx shows no page of an error: the browser does.
  addEventListener("htmx:responseError", event => location.assign(event.detail.pathInfo.finalRequestPath));
  // "/" goes to the first field, as in most consoles.
  addEventListener("keydown", event => {
    if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
    const field = document.querySelector("main input[type=search], main input:not([type=hidden])");
    if (field) { event.preventDefault(); field.focus(); }
  });
})();
