// Taking away what one sees: the grid, or one workload's picture, as CSV, JSON or SVG.
(function () {
  "use strict";
  var page = window.fairground, SPACE = "http://www.w3.org/2000/svg";
  function seen(item) { return !item.classList.contains("hide") && !item.classList.contains("off"); }
  function all(root, selector) { return Array.prototype.filter.call(root.querySelectorAll(selector), seen); }
  function text(item, selector) { var found = item.querySelector(selector); return found ? found.textContent : ""; }
  function amount(item, kind) { var leaf = item.querySelector("[data-" + kind + "]"); return leaf ? parseFloat(leaf.dataset[kind]) : null; }

  function rows(of) {
    var found = [];
    if (of !== "grid") {
      var figure = document.getElementById(of);
      all(figure, "li").forEach(function (item) {
        found.push({ stack: text(item, ".who"), workload: figure.dataset.w, goodput_per_s: amount(item, "g"), low_per_s: item.dataset.low ? +item.dataset.low : null, high_per_s: item.dataset.high ? +item.dataset.high : null, group: text(item, ".tier"), limited_by: text(item, ".because b"), without_number: "" });
      });
      return found;
    }
    all(document, "#grid tbody tr").forEach(function (row) {
      all(row, "td").forEach(function (cell) {
        found.push({ stack: row.dataset.find, language: row.dataset.l, approach: row.dataset.a, workload: cell.dataset.w, goodput_per_s: amount(cell, "g"), group: text(cell, ".g .tier"), server_cpu_us_per_answer: amount(cell, "c"), cpu_group: text(cell, ".c .tier"), limited_by: text(cell, "small"), without_number: cell.title });
      });
    });
    return found;
  }
  function csv(found) {
    var heads = Object.keys(found[0] || { stack: "" });
    return [heads].concat(found.map(function (row) { return heads.map(function (head) { return row[head]; }); })).map(function (line) { return line.map(page.quoted).join(","); }).join("\n") + "\n";
  }

  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }
  function add(parent, tag, values, words) {
    var made = document.createElementNS(SPACE, tag);
    Object.keys(values).forEach(function (key) { made.setAttribute(key, values[key]); });
    if (words !== undefined) made.textContent = words;
    parent.appendChild(made);
    return made;
  }
  function sheet(width, height, title) {
    var svg = document.createElementNS(SPACE, "svg");
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.setAttribute("width", width);
    svg.setAttribute("font-family", "system-ui, sans-serif");
    svg.setAttribute("font-size", "13");
    add(svg, "title", {}, title);
    add(svg, "rect", { width: width, height: height, fill: colour("paper") });
    add(svg, "text", { x: 16, y: 26, "font-weight": 600, "font-size": 15, fill: colour("ink") }, title);
    return svg;
  }
  function widest(texts) { return Math.max.apply(null, texts.map(function (one) { return one.length * 8; }).concat([40])); }
  function bars(of) {
    var figure = document.getElementById(of), items = all(figure, "li"), right = +figure.dataset.right;
    var name = widest(items.map(function (item) { return text(item, ".name"); })), why = widest(items.map(function (item) { return text(item, ".because"); }));
    var svg = sheet(name + why + 560, items.length * 30 + 50, text(figure, "h3")), left = name + 24;
    items.forEach(function (item, place) {
      var y = 44 + place * 30, long = 400 * amount(item, "g") / right;
      add(svg, "text", { x: 16, y: y + 15, fill: colour("ink") }, text(item, ".name"));
      add(svg, "rect", { x: left, y: y, width: long, height: 20, fill: colour("bar") });
      if (item.dataset.low) add(svg, "path", { d: "M" + (left + 400 * Math.min(1, item.dataset.low / right)) + " " + (y + 10) + "H" + (left + 400 * Math.min(1, item.dataset.high / right)), stroke: colour("ink"), "stroke-width": 2 });
      add(svg, "text", { x: left + 412, y: y + 15, "font-weight": 600, fill: colour("ink") }, text(item, ".v"));
      add(svg, "text", { x: left + 510, y: y + 15, fill: colour("soft") }, text(item, ".because"));
    });
    if (figure.dataset.limit) add(svg, "path", { d: "M" + (left + 400 * figure.dataset.limit / right) + " 38V" + (items.length * 30 + 40), stroke: colour("warned"), "stroke-width": 1.5, "stroke-dasharray": "4 3" });
    return svg;
  }
  function table() {
    var lines = all(document, "#grid tbody tr"), heads = all(document, "#grid thead th[data-w]"), cpu = page.get("m") === "cpu";
    var name = widest(lines.map(function (row) { return row.dataset.find; })), svg = sheet(name + 32 + 128 * heads.length, 80 + 40 * lines.length, cpu ? "Server CPU, µs per good answer" : "Good answers per second");
    heads.forEach(function (head, place) { add(svg, "text", { x: name + 24 + 128 * place, y: 58, fill: colour("soft") }, text(head, "a")); });
    lines.forEach(function (row, down) {
      var y = 68 + down * 40;
      add(svg, "text", { x: 16, y: y + 24, fill: colour("ink") }, row.dataset.find);
      all(row, "td").forEach(function (cell, place) {
        var x = name + 20 + 128 * place, has = cell.classList.contains("number");
        add(svg, "rect", { x: x, y: y, width: 124, height: 36, rx: 4, fill: has ? getComputedStyle(cell).backgroundColor : "none" });
        add(svg, "text", { x: x + 8, y: y + 16, "font-weight": 600, fill: colour("ink") }, has ? text(cell, cpu ? ".c" : ".g") : cell.textContent.trim());
        add(svg, "text", { x: x + 8, y: y + 30, "font-size": 11, fill: colour("ink") }, text(cell, "small"));
      });
    });
    return svg;
  }

  function made(kind, of) {
    if (kind === "svg") return new XMLSerializer().serializeToString(of === "grid" ? table() : bars(of));
    return kind === "csv" ? csv(rows(of)) : JSON.stringify(rows(of), null, 1) + "\n";
  }
  page.each("[data-get]", function (button) {
    button.addEventListener("click", function () {
      page.save(button.dataset.of + "." + button.dataset.get, button.dataset.get, made(button.dataset.get, button.dataset.of));
    });
  });
})();
