// Picking: which stacks, languages, approaches and workloads are shown, against which one they are held, and what the grid shows.
(function () {
  "use strict";
  var page = window.fairground, each = page.each;
  var slugs = {}, languages = {}, approaches = {};
  each("#grid tbody tr", function (row) { slugs[row.dataset.find] = row.dataset.s; languages[row.dataset.s] = row.dataset.l; approaches[row.dataset.s] = row.dataset.a; });
  each("[data-g],[data-c]", function (leaf) { leaf.dataset.text = leaf.textContent; });
  function chosen(key) { return page.get(key).split(",").filter(Boolean); }

  // Stack → whether it is among what is picked.
  function picked() {
    var found = {};
    Object.keys(languages).forEach(function (slug) {
      found[slug] = [["s", slug], ["l", languages[slug]], ["a", approaches[slug]]].every(function (one) {
        var some = chosen(one[0]);
        return !some.length || some.indexOf(one[1]) >= 0;
      });
    });
    return found;
  }
  // A key in the search changes neither the grid nor what is picked: only this is done again, and only what changes is touched.
  var sought = [];
  each("[data-find]", function (item) {
    var name = item.dataset.find;
    sought.push({ item: item, text: item.closest("#grid") ? "" : name.toLowerCase(), slug: slugs[name.split(" ")[0]], row: item.hasAttribute("data-row") });
  });
  function find() {
    var words = page.get("q").toLowerCase().split(/\s+/).filter(Boolean), shown = 0, all = 0, shows = picked();
    sought.forEach(function (one) {
      var hit = (!one.text || words.every(function (word) { return one.text.indexOf(word) >= 0; })) && (one.slug === undefined || shows[one.slug]);
      if (hit === !!one.hidden) one.item.classList.toggle("hide", one.hidden = !hit);
      if (one.row) { all += 1; shown += +hit; }
    });
    document.getElementById("found").textContent = words.length ? shown + " of " + all + " rows" : "";
  }
  function filter() {
    var boards = chosen("w"), shows = picked();
    find();
    each("[data-w]", function (item) { item.classList.toggle("off", boards.length > 0 && boards.indexOf(item.dataset.w) < 0); });
    Object.keys(slugs).forEach(function (name) { dim(name, !shows[slugs[name]]); });
    each(".pill", function (pill) {
      pill.setAttribute("aria-pressed", String(chosen(pill.dataset.pick).indexOf(pill.dataset.key) >= 0));
    });
    var count = chosen("s").length + chosen("l").length + chosen("a").length + boards.length;
    document.getElementById("picked").textContent = count ? "(" + count + ")" : "";
    stop(document.querySelector("#grid [tabindex='0']"));
  }

  // However large the grid is, it is one stop of the Tab key: arrow keys go from link to link in it.
  var grid = document.getElementById("grid");
  function links(place) { return Array.prototype.filter.call(place.querySelectorAll("a, button"), function (one) { return one.offsetHeight > 0; }); }
  function stop(wanted) {
    var here = links(grid), link = here.indexOf(wanted) >= 0 ? wanted : links(grid.tBodies[0])[0] || here[0];
    each("#grid a, #grid button", function (one) { one.tabIndex = one === link ? 0 : -1; });
  }
  function beside(link, key) {
    if (key === "ArrowLeft" || key === "ArrowRight") {
      var row = links(link.closest("tr"));
      return row[row.indexOf(link) + (key === "ArrowRight" ? 1 : -1)];
    }
    var rows = Array.prototype.slice.call(grid.rows), column = link.closest("td, th").cellIndex, step = key === "ArrowDown" ? 1 : -1;
    for (var at = rows.indexOf(link.closest("tr")) + step; rows[at]; at += step) {
      var found = links(rows[at].cells[column])[0];
      if (found) return found;
    }
  }
  grid.parentElement.setAttribute("aria-label", grid.parentElement.getAttribute("aria-label") + "; arrow keys go from cell to cell");
  grid.addEventListener("focusin", function (event) { if (event.target.matches("a, button")) stop(event.target); });
  grid.addEventListener("keydown", function (event) {
    if (!/^Arrow/.test(event.key) || !event.target.matches("a, button")) return;
    var next = beside(event.target, event.key);
    event.preventDefault();
    if (next) next.focus();
  });

  // A drawn chart keeps its scale; what was not picked steps back.
  var marks = {};
  each("figure svg.marks [aria-label], figure svg.marks text", function (mark) {
    var text = mark.getAttribute("aria-label") || mark.textContent;
    Object.keys(slugs).forEach(function (name) {
      if (text === name || text.indexOf(name + ":") === 0 || text.indexOf(name + ",") === 0 || text.indexOf(name + " ") === 0) {
        (marks[name] = marks[name] || []).push(mark);
      }
    });
  });
  function dim(name, away) { (marks[name] || []).forEach(function (mark) { mark.classList.toggle("dim", away); }); }

  // One cell's ratio to another: ≈ where they share a letter, ? where nothing was judged.
  var DIGITS = {minimumSignificantDigits: 3, maximumSignificantDigits: 3};
  function ratio(kind, a, b) {
    var my = a["l" + kind], of = b["l" + kind], by = a["r" + kind] / b["r" + kind];
    return !by ? "–" : (my && a !== b && RegExp("\\b(" + of + ")\\b").test(my) ? "≈ " : "") + by.toLocaleString("en", DIGITS) + (my ? " ×" : " × ?");
  }
  function compare() {
    var ref = page.get("ref"), select = document.getElementById("ref"), base = {};
    select.value = ref;
    if (select.value !== ref) { select.value = ""; ref = ""; }
    each("#stack-" + CSS.escape(ref) + " [data-w]", function (cell) { base[cell.dataset.w] = cell.dataset; });
    each("[data-g],[data-c]", function (leaf) {
      var w = leaf.closest("[data-w]").dataset.w, cell = document.getElementById("cell-" + w + "-" + leaf.closest("[data-s]").dataset.s);
      leaf.textContent = ref ? ratio(leaf.dataset.g ? "g" : "c", cell.dataset, base[w] || {}) : leaf.dataset.text;
    });
    document.documentElement.classList.toggle("ratios", !!ref);
    document.getElementById("against").textContent = ref ? "Ratios to " + select.selectedOptions[0].text + ": ≈ not told apart, ? unjudged." : "";
  }
  function switched() {
    var cpu = page.get("m") === "cpu";
    document.getElementById("by-cpu").checked = cpu;
    document.getElementById("by-goodput").checked = !cpu;
  }

  each(".pill", function (pill) {
    pill.addEventListener("click", function () {
      var key = pill.dataset.pick, now = chosen(key), place = now.indexOf(pill.dataset.key);
      if (place >= 0) now.splice(place, 1); else now.push(pill.dataset.key);
      page.set(key, now.join(","));
      filter();
    });
  });
  document.getElementById("ref").addEventListener("change", function (event) { page.set("ref", event.target.value); compare(); });
  var box = document.getElementById("search");
  box.addEventListener("input", function () { page.set("q", box.value); find(); });
  each("input[name=shown]", function (radio) {
    radio.addEventListener("change", function () { page.set("m", radio.id === "by-cpu" ? "cpu" : ""); });
  });
  document.getElementById("reset").addEventListener("click", function () { page.clear(); });
  page.follow(function () { box.value = page.get("q"); filter(); });
  page.follow(compare);
  page.follow(switched);
  if (chosen("s").length || chosen("l").length || chosen("a").length || page.get("ref") || page.get("q")) document.getElementById("pick").open = innerWidth > 720;
})();
