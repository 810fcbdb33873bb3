// Taking away a table as CSV, as one sees it.
(function () {
  "use strict";
  var page = window.fairground;
  function words(cell) {
    var copy = cell.cloneNode(true);
    Array.prototype.forEach.call(copy.querySelectorAll("svg"), function (svg) { svg.remove(); });
    Array.prototype.forEach.call(copy.querySelectorAll(".u"), function (unit) { unit.prepend(" "); });
    return page.quoted(copy.textContent.replace(/\s+/g, " ").trim());
  }
  page.saves("csv", function (of) {
    return Array.prototype.map.call(document.getElementById(of).rows, function (row) {
      return Array.prototype.map.call(row.cells, words).join(",");
    }).join("\n") + "\n";
  });
})();
