import { relative } from 'node:path';
import { toCanonicalText, toDigest } from 'recourse-server/json/canonical-text';
import type { Tool, ToolFile } from 'recourse-server/tools/tool';

const digests = new WeakMap<Tool, string>();
const sources = new WeakMap<ToolFile['sources'], string>();

/**
 * What a tool is, so that a later version of it is told apart: `sha256:` and 64 hex digits over the RFC 8785 text of its name, its
 * effects, both its schemas and the hash of its source. The same in every process that has the same tool.
 */
export const toolDigestOf = (tool: Tool): string => {
  let digest = digests.get(tool);
  if (digest === undefined) {
    const { name, effects, inputSchema, outputSchema } = tool;
    digest = `sha256:${toDigest(toCanonicalText([name, effects, inputSchema, outputSchema, hashSource(tool)]))}`;
    digests.set(tool, digest);
  }
  return digest;
};

/** Of a tool in a file: that file, and all sources of its directory, which it may import. Of others: what names where they are from. */
const hashSource = (tool: Tool): string => {
  if (tool.runsIn === 'service') return toDigest(toCanonicalText([tool.source, tool.upstream?.name ?? null]));
  const { path, root } = tool.file;
  return toDigest(toCanonicalText([relative(root, path), hashSources(tool.file)]));
};

// Of a directory with a thousand files each version is read through once.
const hashSources = ({ root, sources: files }: ToolFile): string => {
  let digest = sources.get(files);
  if (digest === undefined) {
    const named = [...files].map(([path, text]) => [relative(root, path), toDigest(text)]);
    digest = toDigest(toCanonicalText(Object.fromEntries(named)));
    sources.set(files, digest);
  }
  return digest;
};
