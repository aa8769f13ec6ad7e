// Sizes in bytes, as people read them.

/** "512 bytes", "12 KB", "50.1 MB", "2.1 GB". */
export function sizeInWords(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`;
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}

/** "12.0 MB of 2.1 GB", as measured when the agent last used them; empty if that is not known. */
export function filesInWords(workspace) {
  if (workspace?.bytes == null) return "";
  return `${sizeInWords(workspace.bytes)} of ${sizeInWords(workspace.limit_bytes)}`;
}
