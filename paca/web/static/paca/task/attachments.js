// The files of a task: a list with downloads, and a field to add more by click or drop.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { ask } from "../core/dialog.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";

/** "12 kB", "3.4 MB". */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function attachments(host) {
  const { attachments: files } = host.data;
  const { mayWrite, urls } = host.page;
  if (!files.length && !mayWrite) return nothing;
  const add = async (list) => {
    for (const file of list) await host.attempt(() => host.data.attach(file));
  };
  return html`<section class="files" aria-label="Files" @dragover=${(event) => mayWrite && event.preventDefault()} @drop=${(event) => {
      if (!mayWrite || !event.dataTransfer.files.length) return;
      event.preventDefault();
      add(event.dataTransfer.files);
    }}>${files.length ? html`<ul class="rowlist">${files.map((file) => html`<li class="file-row">${icon("file")}<a class="link clip" href="${urls.attachments}${file.id}/download/" download><bdi>${visible(file.name)}</bdi></a>
      <span class="small muted num">${size(file.size_bytes)}</span>
      ${mayWrite ? html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Remove ${visible(file.name)}" title="Remove" @click=${async () => {
        const sure = await ask({ title: `Remove ${file.name}?`, text: "The file is deleted for everybody. This cannot be undone.", yes: "Remove" });
        if (sure) await host.attempt(() => host.data.detach(file));
      }}>${icon("x")}</button>` : nothing}</li>`)}</ul>` : nothing}
    ${mayWrite ? html`<label class="btn btn-quiet btn-s file-add">${icon("plus")}Attach a file<input type="file" class="sr" multiple @change=${({ target }) => {
      add([...target.files]).then(() => { target.value = ""; });
    }}></label>` : nothing}</section>`;
}
