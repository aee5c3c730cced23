"""Show a pipeline in the browser: the demo page and its server."""
