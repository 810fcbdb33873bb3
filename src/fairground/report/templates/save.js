// Taking away a picture as SVG or a table as CSV, and the address of the page as one sees it.
(function () {
  "use strict";
  var page = window.fairground;
  function picture(of) {
    var drawn = Array.prototype.filter.call(document.querySelectorAll("#" + of + " svg"), function (svg) { return svg.getBoundingClientRect().width > 0; })[0];
    var copy = drawn.cloneNode(true);
    copy.setAttribute("font-family", "'Liberation Sans', Arial, sans-serif");
    return new XMLSerializer().serializeToString(copy);
  }
  function words(cell) {
    var copy = cell.cloneNode(true);
    Array.prototype.forEach.call(copy.querySelectorAll("svg"), function (svg) { svg.remove(); });
    Array.prototype.forEach.call(copy.querySelectorAll(".u"), function (unit) { unit.prepend(" "); });
    return page.quoted(copy.textContent.replace(/\s+/g, " ").trim());
  }
  function table(of) {
    return Array.prototype.map.call(document.getElementById(of).rows, function (row) {
      return Array.prototype.map.call(row.cells, words).join(",");
    }).join("\n") + "\n";
  }
  page.each("[data-save]", function (button) {
    var of = button.dataset.of, kind = button.dataset.save;
    button.setAttribute("aria-label", kind.toUpperCase() + " of " + of);
    button.addEventListener("click", function () { page.save(of + "." + kind, kind, kind === "svg" ? picture(of) : table(of)); });
  });
  page.share();
})();
