(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("js");

  // State lives in the address, so that a link shows what the sender saw: #theme=dark&s=one,two&ref=one&sort=grid.2.down
  var state = {}, followers = [];
  function read() {
    state = {};
    if (location.hash.indexOf("=") > 0) {
      location.hash.slice(1).split("&").forEach(function (part) {
        var pair = part.split("=");
        try { state[pair[0]] = decodeURIComponent(pair[1] || ""); } catch (error) { state[pair[0]] = ""; }
      });
    }
  }
  read();
  function keep() {
    var parts = Object.keys(state).filter(function (key) { return state[key]; });
    var text = parts.map(function (key) { return key + "=" + encodeURIComponent(state[key]).replace(/%2C/g, ","); }).join("&");
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  }
  function each(selector, act) { Array.prototype.forEach.call(document.querySelectorAll(selector), act); }

  function paint() {
    if (state.theme === "dark" || state.theme === "light") root.dataset.theme = state.theme;
    else delete root.dataset.theme;
  }
  var toggle = document.getElementById("theme");
  toggle.addEventListener("click", function () {
    var dark = state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    state.theme = dark ? "light" : "dark";
    paint();
    keep();
  });

  // A cell's number is its first one; text without a number sorts as text, and what has no number always comes last.
  function value(row, column) {
    var cell = row.cells[column];
    if (!cell || column > 0 && row.querySelector("td[colspan]")) return null;
    if (column > 0 && row.closest("#grid")) {
      var leaf = cell.querySelector(state.m === "cpu" ? "[data-c]" : "[data-g]");
      return leaf ? parseFloat(leaf.dataset.g || leaf.dataset.c) : null;
    }
    var text = (cell.dataset.value || cell.textContent).trim();
    var match = text.replace(/,/g, "").match(/^[~−-]?\d[\d.]*/);
    if (match) return parseFloat(match[0].replace("~", "").replace("−", "-"));
    return /^[–—]/.test(text) || !text ? null : text;
  }
  function sort(head, down) {
    var table = head.closest("table"), column = head.cellIndex, body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows).map(function (row, place) { return { row: row, key: value(row, column), place: place }; });
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      var order = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : String(a.key).localeCompare(String(b.key));
      return (down ? -order : order) || a.place - b.place;
    });
    rows.forEach(function (item) { body.appendChild(item.row); });
    each("th[aria-sort]", function (other) { if (other.closest("table") === table) other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    state.sort = table.id + "." + column + (down ? ".down" : ".up");
  }
  each("th[data-sort]", function (head) {
    if (!head.querySelector("button")) head.tabIndex = 0;
    function act(event) {
      if (event.target.closest("a")) return;
      var now = head.getAttribute("aria-sort"), cheap = head.closest("#grid") && state.m === "cpu";
      sort(head, now ? now === "ascending" : head.dataset.sort === "down" && !cheap);
      keep();
    }
    head.addEventListener("click", act);
    head.addEventListener("keydown", function (event) { if (event.target === head && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); act(event); } });
  });

  // One text for the tooltip and for a screen reader: the mark's label.
  var tip = null;
  document.addEventListener("pointerover", function (event) {
    var mark = event.target.closest && event.target.closest("svg [aria-label], svg[aria-label]");
    if (tip) { tip.remove(); tip = null; }
    if (!mark) return;
    tip = document.createElement("div");
    tip.id = "tip";
    tip.textContent = mark.getAttribute("aria-label");
    document.body.appendChild(tip);
    tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 8) + "px";
  });

  // A link inside the page leaves the rest of the state in the address: #s=one,two&at=board-tx
  function reveal(name) {
    var target = name && document.getElementById(name);
    for (var item = target; item; item = item.parentElement) if (item.tagName === "DETAILS") item.open = true;
    each(".here", function (other) { other.classList.remove("here"); });
    if (target) { target.classList.add("here"); target.scrollIntoView({ block: /^(TR|TD|LI)$/.test(target.tagName) ? "center" : "start" }); }
  }
  function wanted() { return location.hash.indexOf("=") < 0 ? decodeURIComponent(location.hash.slice(1)) : state.at; }
  document.addEventListener("click", function (event) {
    var link = event.target.closest && event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.className === "skip") { document.getElementById(link.hash.slice(1)).focus(); return; }
    state.at = decodeURIComponent(link.getAttribute("href").slice(1));
    keep();
    reveal(state.at);
  });
  each("[data-copy]", function (button) {
    button.addEventListener("click", function () {
      var text = document.getElementById(button.dataset.copy).textContent;
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(function () { button.textContent = "copied"; }, function () { button.textContent = "select and copy"; });
    });
  });

  var closed = [];
  addEventListener("beforeprint", function () {
    each("details:not([open])", function (item) { item.open = true; closed.push(item); });
  });
  addEventListener("afterprint", function () { closed.forEach(function (item) { item.open = false; }); closed = []; });

  function apply() {
    paint();
    followers.forEach(function (act) { act(); });
    if (state.sort) {
      var parts = state.sort.split("."), table = document.getElementById(parts.slice(0, -2).join("."));
      var head = table && table.tHead && table.tHead.rows[0].cells[+parts[parts.length - 2]];
      if (head) sort(head, parts[parts.length - 1] === "down");
    }
    reveal(wanted());
  }
  addEventListener("hashchange", function () { if (location.hash.indexOf("=") > 0) { read(); apply(); } else reveal(wanted()); });

  // A spreadsheet runs what begins like a formula: text that does gets a quote before it.
  function quoted(value) {
    if (value === null) return "";
    var safe = typeof value === "string" && /^[=+@\t-]/.test(value) ? "'" + value : String(value);
    return /[",\n\r]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
  }
  var kinds = { csv: "text/csv", json: "application/json", svg: "image/svg+xml" };
  function save(name, kind, text) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kinds[kind] }));
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }
  function saves(kind, made) {
    each("[data-save=" + kind + "]", function (button) {
      var of = button.dataset.of;
      button.setAttribute("aria-label", kind.toUpperCase() + " of " + of);
      button.addEventListener("click", function () { save(of + "." + kind, kind, made(of)); });
    });
  }
  var share = document.getElementById("share");
  share.addEventListener("click", function () {
    var done = function () { share.textContent = "copied"; }, failed = function () { share.textContent = "copy it from the address bar"; };
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(done, failed); else failed();
    setTimeout(function () { share.textContent = "copy link"; }, 3000);
  });
  window.fairground = {
    each: each, keep: keep, quoted: quoted, save: save, saves: saves,
    get: function (key) { return state[key] || ""; },
    set: function (key, value) { state[key] = value; keep(); },
    follow: function (act) { followers.push(act); act(); },
    clear: function () { state = { theme: state.theme }; keep(); apply(); }
  };
  addEventListener("DOMContentLoaded", apply);
})();
