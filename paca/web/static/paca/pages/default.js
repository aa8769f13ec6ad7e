// The script of pages without live parts: the shell only.

import "../core/shell.js";
