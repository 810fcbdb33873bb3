"""Write what a run says as a page, as Markdown and as CSV: pure functions of a `model.Run`, and one child process that draws."""
