// Taking away a chart as SVG, in the width that one sees.
(function () {
  "use strict";
  window.fairground.saves("svg", function (of) {
    var drawn = Array.prototype.filter.call(document.querySelectorAll("#" + of + " svg"), function (svg) { return svg.getBoundingClientRect().width > 0; })[0];
    var copy = drawn.cloneNode(true), view = drawn.viewBox.baseVal, inside = drawn.getBBox();
    // On the page a label may reach over an edge, where a font is wider than was reckoned. A file would cut it there.
    var left = Math.min(view.x, inside.x), wide = Math.max(view.x + view.width, inside.x + inside.width) - left;
    copy.setAttribute("viewBox", [left, view.y, wide, view.height].join(" "));
    copy.setAttribute("width", wide);
    copy.setAttribute("font-family", "'Liberation Sans', Arial, sans-serif");
    return new XMLSerializer().serializeToString(copy);
  });
})();
