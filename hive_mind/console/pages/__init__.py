"""One file per page. Each has `PAGE`, which `console.app` lists."""
