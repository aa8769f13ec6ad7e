// The script of the inbox.

import "../core/shell.js";
import "../inbox/inbox-element.js";
import "../inbox/waiting-calls.js";
