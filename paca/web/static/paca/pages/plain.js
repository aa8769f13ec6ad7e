// Pages without live parts: the shell is all they need.

import "../core/shell.js";
