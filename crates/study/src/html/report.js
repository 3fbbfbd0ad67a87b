"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(by(id).textContent);
  const comparison = read("comparison");
  const views = read("views");
  if (!views.rows.length) return;

  const NS = "http://www.w3.org/2000/svg";
  const svg = (name, attributes, parent) => {
    const element = document.createElementNS(NS, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (parent) parent.append(element);
    return element;
  };
  const make = (name, text, parent) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };
  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const cause = new Map(views.letters.map(([letter, id, name]) => [letter, { id, name }]));

  let run = views.rows[0];
  let warp = null;
  let at = 0;

  const steps = () => (warp ? warp.steps.length / 3 : 0);
  const stepAt = (i) => ({
    place: views.places[warp.steps[3 * i]],
    lanes: views.sets[warp.steps[3 * i + 1]],
    depth: warp.steps[3 * i + 2],
  });

  // Ranges such as 0–3, 7.
  const ranges = (lanes) => {
    const out = [];
    for (let i = 0; i < lanes.length; ) {
      let j = i;
      while (j + 1 < lanes.length && lanes[j + 1] === lanes[j] + 1) j++;
      out.push(i === j ? `${lanes[i]}` : `${lanes[i]}–${lanes[j]}`);
      i = j + 1;
    }
    return out.join(", ");
  };

  const mask = (lanes, letters) => {
    let value = 0n;
    for (let i = 0; i < lanes.length; i++) if (letters.includes(lanes[i])) value |= 1n << BigInt(i);
    return "0x" + value.toString(16);
  };

  // Where a lane was active last, before or at step i.
  const lastPlace = (lane, i) => {
    for (let k = i; k >= 0; k--) {
      const letter = views.sets[warp.steps[3 * k + 1]][lane];
      if ("#omu".includes(letter)) return views.places[warp.steps[3 * k]];
    }
    return null;
  };

  const lineOf = (place) => (place && place[1] ? `line ${place[1]}` : "a line of its own");

  function picture() {
    const box = by("lane-picture");
    const { lanes } = stepAt(at);
    const width = warp.width;
    const cell = 14;
    const high = Math.max(3, Math.min(14, Math.floor(448 / width)));
    const left = 34;
    const top = 24;
    const room = Math.max(12, Math.floor((box.clientWidth - left - 16) / cell));
    const shown = Math.min(steps(), room);
    const from = Math.max(0, Math.min(at - Math.floor(shown / 2), steps() - shown));
    const image = svg("svg", { width: left + shown * cell + 4, height: top + width * high + 6, "aria-hidden": "true" });
    for (let i = from; i < from + shown; i++) {
      if ((i + 1) % 5 === 0) {
        const label = svg("text", { x: left + (i - from) * cell + cell / 2, y: 10, "text-anchor": "middle" }, image);
        label.textContent = i + 1;
      }
    }
    const every = width <= 16 ? 1 : width <= 32 ? 4 : 8;
    for (let lane = 0; lane < width; lane++) {
      const y = top + lane * high;
      if (lane % every === 0) {
        const label = svg("text", { x: left - 6, y: y + Math.min(high, 10) - 1, "text-anchor": "end" }, image);
        label.textContent = lane;
      }
      for (let i = from; i < from + shown; ) {
        const letter = stepAt(i).lanes[lane];
        let j = i + 1;
        while (j < from + shown && stepAt(j).lanes[lane] === letter) j++;
        svg("rect", {
          x: left + (i - from) * cell, y, width: (j - i) * cell, height: high,
          fill: `url(#p-${cause.get(letter).id})`, class: "cell",
        }, image);
        i = j;
      }
    }
    const x = left + (at - from) * cell;
    svg("rect", { x, y: top - 2, width: cell, height: width * high + 4, class: "cursor" }, image);
    svg("path", { d: `M${x + 1} ${top - 10}h${cell - 2}l${1 - cell / 2} 8z`, class: "mark" }, image);
    box.replaceChildren(image);
    box.setAttribute("aria-label",
      `Lanes 0 to ${width - 1} over issues ${from + 1} to ${from + shown}; at issue ${at + 1} lanes ${mask(lanes, "#u")} are on`);
  }

  function describe() {
    const { place, lanes, depth } = stepAt(at);
    by("step-number").textContent = `issue ${grouped(at + 1)} of ${grouped(steps())}`;
    by("step-slider").value = at + 1;
    const code = by("step-code");
    code.replaceChildren();
    const where = make("strong", place[1] ? `line ${place[1]}` : "added", code);
    where.id = "step-line";
    if (place[2]) code.append(` (${place[2][0].split(/[\\/]/).pop()}:${place[2][1]})`);
    code.append(": ");
    make("span", place[0], code).id = "step-instruction";
    if (place[3]) code.append(` — put there by the compiler: ${place[3]}`);
    const list = by("step-lanes");
    list.replaceChildren();
    const item = (name, text, id) => {
      const div = make("div", undefined, list);
      make("dt", name, div);
      const dd = make("dd", text, div);
      if (id) dd.id = id;
    };
    const on = [...lanes].filter((c) => c === "#" || c === "u").length;
    item("lanes that execute", `${on} of ${warp.width}`, "step-on");
    item("mask", mask(lanes, "#u"), "step-mask");
    item("paths of the warp", String(depth), "step-depth");
    for (const [letter, { id, name }] of cause) {
      const members = [...lanes].flatMap((c, i) => (c === letter ? [i] : []));
      if (!members.length) continue;
      if (id !== "diverged" && id !== "waiting") {
        item(name, `lanes ${ranges(members)}`);
        continue;
      }
      // Lanes of one path stand where they ran last.
      const groups = new Map();
      for (const lane of members) {
        const key = lineOf(lastPlace(lane, at));
        groups.set(key, [...(groups.get(key) || []), lane]);
      }
      const told = [...groups].map(([key, list]) => `lanes ${ranges(list)} (last ran ${key})`);
      item(name, told.join("; "));
    }
  }

  function mark() {
    document.querySelectorAll("tr.now").forEach((row) => { row.classList.remove("now"); row.removeAttribute("aria-current"); });
    const { place } = stepAt(at);
    const rows = [];
    if (place[1]) rows.push(by(`t${place[1]}`));
    if (place[2]) rows.push(by(`s${views.files.indexOf(place[2][0])}-${place[2][1]}`));
    for (const row of rows.filter(Boolean)) {
      row.classList.add("now");
      row.setAttribute("aria-current", "step");
      const box = row.closest(".scroll");
      const y = row.offsetTop - box.scrollTop;
      if (y < 40 || y > box.clientHeight - 40) box.scrollTop = row.offsetTop - box.clientHeight / 2;
    }
    views.graphs.forEach((graph, g) => {
      graph.blocks.forEach((block, b) => {
        const node = document.querySelector(`[data-graph="${g}"] [data-block="${b}"]`);
        if (node) node.classList.toggle("now", block.lines.includes(place[1]));
      });
    });
  }

  function show() {
    if (!warp || !steps()) return;
    picture();
    describe();
    mark();
  }

  function go(to) {
    at = Math.max(0, Math.min(steps() - 1, to));
    show();
  }

  function change(direction) {
    let i = at + direction;
    const set = (k) => warp.steps[3 * k + 1];
    while (i > 0 && i < steps() - 1 && set(i) === set(i - direction)) i += direction;
    go(i);
  }

  // A bar of up to 70 pixels, and the number.
  function meter(cell, share) {
    const box = make("span", undefined, cell);
    box.className = "meter";
    const bar = svg("svg", { width: 70, height: 10, viewBox: "0 0 70 10", preserveAspectRatio: "xMinYMid slice", "aria-hidden": "true" }, box);
    if (share > 0) svg("rect", { width: Math.max(1, 0.7 * share), height: 10, fill: "url(#p-diverged)", class: "cell" }, bar);
    make("span", share >= 0.05 ? `${share.toFixed(1)}%` : "0", box);
  }

  function heat() {
    document.querySelectorAll("[data-listing] tr").forEach((row) => {
      row.classList.remove("split");
      [...row.cells].slice(1, 4).forEach((cell) => row.classList.contains("gap") || cell.replaceChildren());
    });
    if (!run.heat) return;
    const whole = Math.max(1, run.heat.lost);
    const fill = (prefix, lines) => {
      for (const [number, issues, width, on, active, splits] of lines) {
        const row = by(prefix + number);
        if (!row) continue;
        row.cells[1].textContent = grouped(issues);
        row.cells[2].textContent = width ? ((100 * active) / width).toFixed(0) : "";
        meter(row.cells[3], (100 * (width - on)) / whole);
        row.classList.toggle("split", splits > 0);
      }
    };
    fill("t", run.heat.text);
    run.heat.files.forEach((lines, i) => fill(`s${i}-`, lines));
    const lost = new Map(run.heat.text.map(([number, , width, on]) => [number, width - on]));
    views.graphs.forEach((graph, g) => {
      graph.blocks.forEach((block, b) => {
        const node = document.querySelector(`[data-graph="${g}"] [data-block="${b}"]`);
        if (!node) return;
        const share = (100 * block.lines.reduce((sum, line) => sum + (lost.get(line) || 0), 0)) / whole;
        node.querySelector(".loss").setAttribute("width", (1.88 * share).toFixed(1));
        node.querySelector(".share").textContent = share >= 0.05 ? `lost ${share.toFixed(1)}%` : "";
      });
    });
  }

  function branches() {
    const body = by("branch-rows");
    body.replaceChildren();
    const { rows, of, diverged, unattributed } = run.branches;
    for (const [line, text, executed, divergent, jumping, falling, rejoined, never, lost, saves] of rows) {
      const row = make("tr", undefined, body);
      const number = (value) => { make("td", value, row).className = "n"; };
      const first = make("th", undefined, row);
      first.scope = "row";
      first.className = "n";
      if (line && by(`t${line}`)) make("a", String(line), first).href = `#t${line}`;
      else first.textContent = line || "–";
      [executed, divergent, jumping, falling].forEach((n) => number(grouped(n)));
      make("td", rejoined.map(([at, n]) => `${at || "–"} (${grouped(n)})`).join(", ") || "–", row);
      number(grouped(never));
      meter(make("td", undefined, row), (100 * lost) / Math.max(1, diverged));
      number(saves === null ? "–" : grouped(saves));
      make("td", text, row);
    }
    const note = by("branch-note");
    note.textContent = rows.length ? "" : "No branch was issued. ";
    if (rows.length < of) note.append(`${rows.length} of ${grouped(of)} branches are shown. `);
    if (diverged) note.append(`${((100 * unattributed) / diverged).toFixed(1)} % of what is lost on other paths is charged to no branch (calls and returns that part lanes).`);
  }

  function occupancy() {
    const canvas = by("occupancy-map");
    const { rows, warps, issues } = run.occupancy;
    const columns = Math.max(1, ...rows.map((row) => row.length));
    const wide = Math.max(2, Math.min(8, Math.floor((canvas.parentElement.clientWidth - 4) / columns)));
    const high = rows.length <= 16 ? 14 : 8;
    canvas.width = columns * wide;
    canvas.height = Math.max(1, rows.length) * high;
    const paint = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    rows.forEach((row, y) => [...row].forEach((letter, x) => {
      if (letter === "-") return;
      const share = parseInt(letter, 36) / 35;
      paint.globalAlpha = 1;
      paint.fillStyle = style.getPropertyValue("--none");
      paint.fillRect(x * wide, y * high, wide, high - 1);
      paint.globalAlpha = share;
      paint.fillStyle = style.getPropertyValue("--on");
      paint.fillRect(x * wide, y * high, wide, high - 1);
    }));
    const all = rows.join("").replace(/-/g, "");
    const mean = [...all].reduce((sum, letter) => sum + parseInt(letter, 36) / 35, 0) / Math.max(1, all.length);
    canvas.setAttribute("aria-label", `Lanes over the whole run under ${run.name}: ${rows.length} rows, ${columns} columns, ${(100 * mean).toFixed(0)} % of the lanes of a cell execute on average`);
    by("occupancy-note").textContent =
      `A row is ${warps === 1 ? "a warp" : `${grouped(warps)} warps`}, a column ${issues === 1 ? "an issue" : `${grouped(issues)} issues of a warp`}.`;
  }

  function chooseWarp(index) {
    warp = run.warps[index] || null;
    by("stepper").hidden = !warp || !steps();
    const note = by("lane-note");
    note.textContent = "";
    if (!warp) return;
    by("step-slider").max = steps();
    if (steps() < warp.issues) note.append(`The first ${grouped(steps())} of ${grouped(warp.issues)} issues of this warp are kept. `);
    if (run.warps.length < run.warps_of)
      note.append(`${run.warps.length} of ${grouped(run.warps_of)} warps are kept: the first, and of those that began early the ones that lost most.`);
    go(0);
  }

  function chooseRun(index) {
    run = views.rows[index];
    by("pick-row").value = String(index);
    const pick = by("pick-warp");
    pick.replaceChildren();
    run.warps.forEach((w, i) => {
      const lost = w.lane_slots ? ((100 * w.lost) / w.lane_slots).toFixed(0) : "0";
      const launch = comparison.kernels.length > 1 ? `launch ${w.launch}, ` : "";
      make("option", `${launch}block ${w.block}, warp ${w.warp}: ${lost}% lost`, pick).value = i;
    });
    document.querySelectorAll(".costs tr.chosen").forEach((row) => row.classList.remove("chosen"));
    const row = document.querySelector(`.costs tr[data-row="${run.row}"]`);
    if (row) row.classList.add("chosen");
    let most = 0;
    run.warps.forEach((w, i) => { if (w.lost / w.lane_slots > run.warps[most].lost / run.warps[most].lane_slots) most = i; });
    pick.value = String(most);
    chooseWarp(most);
    heat();
    branches();
    occupancy();
  }

  views.rows.forEach((row, i) => { make("option", row.name, by("pick-row")).value = i; });
  by("pick-row").addEventListener("change", (e) => chooseRun(Number(e.target.value)));
  by("pick-warp").addEventListener("change", (e) => chooseWarp(Number(e.target.value)));
  document.querySelectorAll(".choose").forEach((button) => button.addEventListener("click", () => {
    const index = views.rows.findIndex((row) => row.row === Number(button.dataset.row));
    if (index >= 0) chooseRun(index);
  }));
  const moves = {
    "step-first": () => go(0), "step-prev": () => go(at - 1), "step-next": () => go(at + 1), "step-last": () => go(steps() - 1),
    "step-before": () => change(-1), "step-after": () => change(1),
  };
  for (const id in moves) by(id).addEventListener("click", moves[id]);
  by("step-slider").addEventListener("input", (e) => go(Number(e.target.value) - 1));
  const keys = {
    ArrowLeft: "step-prev", ArrowRight: "step-next", Home: "step-first", End: "step-last", PageUp: "step-before", PageDown: "step-after",
  };
  by("stepper").addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.target.id === "step-slider" || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    moves[keys[event.key]]();
  });
  window.addEventListener("resize", () => { show(); occupancy(); });

  // Graphs: a chosen block marks its frontier and where its paths meet.
  document.querySelectorAll("[data-graph]").forEach((figure) => {
    const graph = views.graphs[Number(figure.dataset.graph)];
    const node = (b) => figure.querySelector(`[data-block="${b}"]`);
    const choose = (b) => {
      const again = node(b).classList.contains("chosen");
      figure.querySelectorAll(".block, .edge").forEach((e) => e.classList.remove("chosen", "waits", "meet", "lit"));
      if (again) return;
      node(b).classList.add("chosen");
      graph.blocks[b].frontier.forEach((f) => node(f) && node(f).classList.add("waits"));
      if (typeof graph.blocks[b].meets === "number" && node(graph.blocks[b].meets)) node(graph.blocks[b].meets).classList.add("meet");
      figure.querySelectorAll(`.edge[data-from="${b}"]`).forEach((e) => e.classList.add("lit"));
    };
    figure.querySelectorAll(".block").forEach((block) => {
      block.addEventListener("click", () => choose(Number(block.dataset.block)));
      block.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(Number(block.dataset.block)); }
      });
    });
  });

  // Graphs open at their entry; they can be fitted to the page and zoomed.
  document.querySelectorAll("[data-graph]").forEach((figure) => {
    const image = figure.querySelector("svg.cfg");
    if (!image) return;
    const box = image.closest(".scroll");
    const [wide, high] = ["width", "height"].map((name) => Number(image.getAttribute(name)));
    if (!image.hasAttribute("viewBox")) image.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    let scale = 1;
    const zoom = (to) => {
      const middle = (box.scrollLeft + box.clientWidth / 2) / (wide * scale);
      const top = box.scrollTop / (high * scale);
      scale = Math.max(0.05, Math.min(3, to));
      image.setAttribute("width", wide * scale);
      image.setAttribute("height", high * scale);
      box.scrollLeft = middle * wide * scale - box.clientWidth / 2;
      box.scrollTop = top * high * scale;
    };
    const toEntry = () => {
      const entry = figure.querySelector('[data-block="0"]');
      if (!entry) return;
      const at = entry.getBoundingClientRect();
      const of = box.getBoundingClientRect();
      box.scrollLeft += at.left + at.width / 2 - of.left - box.clientWidth / 2;
      box.scrollTop += at.top - of.top - 12;
    };
    const fit = () => { zoom(Math.min(1, (box.clientWidth - 4) / wide, Math.max(200, box.clientHeight - 4) / high)); toEntry(); };
    const bar = document.createElement("div");
    bar.className = "zoom";
    for (const [text, label, act] of [
      ["+", "Zoom in", () => zoom(scale * 1.3)], ["−", "Zoom out", () => zoom(scale / 1.3)],
      ["fit", "Fit the graph to its frame", fit], ["entry", "Go to the entry", () => { zoom(1); toEntry(); }],
    ]) {
      const button = make("button", text, bar);
      button.type = "button";
      button.dataset.zoom = text;
      button.setAttribute("aria-label", label);
      button.addEventListener("click", act);
    }
    box.before(bar);
    toEntry();
    // A folded graph has no size before it is opened.
    const fold = figure.closest("details");
    if (fold && !fold.open) fold.addEventListener("toggle", toEntry, { once: true });
  });

  // The mechanism that is the machine's default comes first in the list of rows.
  const first = views.rows.findIndex((row) => row.warps.some((w) => w.steps.length));
  chooseRun(Math.max(0, first));
})();
