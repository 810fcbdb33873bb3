// Finds lines of a list by what is typed; what was typed stands in the address, so that a link shows the same.
(function () {
  var field = document.getElementById("search"), count = document.getElementById("found");
  var lines = Array.prototype.map.call(document.querySelectorAll("tbody tr"), function (line) {
    return { line: line, text: line.textContent.toLowerCase() };
  });
  document.documentElement.classList.add("js");
  function find() {
    var words = field.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
    lines.forEach(function (one) {
      var hit = words.every(function (word) { return one.text.indexOf(word) >= 0; });
      if (one.line.hidden === hit) one.line.hidden = !hit;
      shown += hit;
    });
    count.textContent = words.length ? shown + " of " + lines.length : "";
  }
  function read() {
    var text = decodeURIComponent(location.hash.slice(1));
    if (!document.getElementById(text)) field.value = text;  // a link to a place on the page is nothing to look for
    find();
  }
  field.addEventListener("input", function () {
    history.replaceState(null, "", field.value ? "#" + encodeURIComponent(field.value) : location.pathname + location.search);
    find();
  });
  addEventListener("hashchange", read);
  read();
})();
