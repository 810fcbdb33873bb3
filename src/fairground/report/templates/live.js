// The lab's own page: shows what goes on as it is told, and asks for what is clicked. Text is set as text; the picture alone is markup of the server's.
(function () {
  function id(name) { return document.getElementById(name); }
  function text(name, value) { if (id(name).textContent !== value) id(name).textContent = value; }
  document.documentElement.classList.add("js");
  function number(value) { return Number(value.toPrecision(3)).toLocaleString("en"); }
  function duration(seconds) {
    if (seconds < 100) return Math.round(seconds) + " s";
    var minutes = Math.round(seconds / 60);
    return minutes < 60 ? minutes + " min" : Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
  }
  function seconds(value) { return value.toFixed(value < 10 ? 1 : 0); }
  // The server draws the picture, and escapes all that it prints. The page's policy runs no script that is in it.
  function draw(version) {
    if (version === drawn) return;
    drawn = version;
    fetch("/picture").then(function (answer) { return answer.ok ? answer.text() : ""; }).then(function (markup) {
      var place = id("picture"), held = place.contains(document.activeElement) && document.activeElement, grid = place.querySelector(".scroll");
      var name = held && held.closest("[id]").id, left = grid ? grid.scrollLeft : 0;
      place.innerHTML = markup;
      if (grid && place.querySelector(".scroll")) place.querySelector(".scroll").scrollLeft = left;
      var again = name && id(name);
      if (again && place.contains(again)) (again.querySelector("a") || again).focus({ preventScroll: true });
    });
  }
  function doing(now) {
    if (!now) return "";
    var cell = now.slot.cell, words = cell.stack + " on " + cell.workload + ": " + now.phase + " " + seconds(now.elapsed_s) + (now.total_s ? " of " + seconds(now.total_s) : "") + " s";
    if (now.attempt > 1) words += ", attempt " + now.attempt + " after a void trial";
    if (now.ok !== null) words += " · " + now.ok.toLocaleString("en") + "/s";
    if (now.p99_us !== null) words += " · p99 " + number(now.p99_us / 1000) + " ms";
    if (now.not_ok) words += " · " + now.not_ok + " not ok";
    return words;
  }
  function outcome(job) {
    if (job.code === 0) return "It ended well.";
    if (job.code === 130 || job.code === -2 || job.code === -15) return "It was stopped; what is finished is kept.";
    if (job.code < 0) return "Signal " + -job.code + " ended it; what is finished is kept.";
    return "It ended with code " + job.code + "; what it said stands below.";
  }
  function show(state) {
    var run = state.run, job = state.job, now = job && job.now;
    text("trouble", state.trouble || "");
    id("bar").hidden = id("now").hidden = !run;
    id("overview").hidden = !state.drawn;
    id("open").hidden = !state.page;
    id("open").href = state.page;
    draw(state.drawn);
    id("talk").hidden = !job;
    id("stop").hidden = !state.here;
    id("ask").hidden = state.goes_on;
    if (job) {
      text("command", job.command);
      text("said", job.said.join("\n"));
      id("said").scrollTop = id("said").scrollHeight;
    }
    if (!run && job) text("facts", job.folder ? job.folder.replace(/.*\//, "") : "");
    if (!run) { text("title", state.here ? (job && job.folder ? "Measuring: " + job.folder.replace(/.*\//, "") : "Beginning …") : job ? outcome(job) : "The lab"); return; }
    text("title", state.goes_on ? run.title + ": " + run.done + " of " + run.slots + " trials" : job ? outcome(job) : run.title + " is the last run");
    text("facts", run.run + (state.goes_on ? (run.left_s === null ? "" : " · at most " + duration(run.left_s) + " left") + (state.here ? "" : " · begun elsewhere, it is ended there") : state.drawing ? " · its pages are being written" : ""));
    id("bar").max = run.slots;
    id("bar").value = run.done;
    text("now", doing(now));
  }

  function ask(place, document_) {
    id("refused").hidden = true;
    fetch(place, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(document_) }).then(function (answer) {
      return answer.text().then(function (said) {
        if (answer.ok) return;
        var found = /^application\/json/.test(answer.headers.get("content-type")) ? JSON.parse(said) : { error: said };
        text("refused", "✗ " + found.error + (found.hint ? " (" + found.hint + ")" : ""));
        id("refused").hidden = false;
      });
    }).catch(function () { text("title", "The lab is gone: start `./fairground serve` again."); });
  }
  function chosen(form, name) { return Array.prototype.map.call(form.elements[name].selectedOptions, function (one) { return one.value; }); }
  id("stop").addEventListener("click", function () { ask("/stop", {}); });
  id("suite").addEventListener("submit", function (event) { event.preventDefault(); ask("/begin", { verb: "suite", suites: chosen(event.target, "suites") }); });
  id("run").addEventListener("submit", function (event) {
    event.preventDefault();
    var form = event.target, verb = event.submitter && event.submitter.dataset.verb || "run";
    ask("/begin", { verb: verb, stacks: chosen(form, "stacks"), workloads: chosen(form, "workloads"),
      blocks: +form.elements.blocks.value || null, window: +form.elements.window.value || null, connections: +form.elements.connections.value || null });
  });
  var first = JSON.parse(id("first").textContent), drawn = first.drawn;
  show(first);
  var source = new EventSource("/events");
  source.onmessage = function (event) { show(JSON.parse(event.data)); };
  source.onerror = function () {
    text("title", source.readyState === EventSource.CLOSED ? "The lab was started anew: open the address that it printed." : "The lab does not answer; this page tries again.");
  };
})();
