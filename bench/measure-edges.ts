import { type FilesMeasured, measureFiles } from './files/measure-files.ts';
import { type FormatSeries, measureFormats } from './formats/measure-formats.ts';
import type { Part } from './isolation/part.ts';
import { type McpSeries, measureMcp } from './mcp/measure-mcp.ts';
import { measureNotes, type NotesMeasured } from './notes/measure-notes.ts';
import { measureUpstream, type UpstreamSeries } from './upstream/measure-upstream.ts';

/** How calls come in and where they go to; null where that was not measured. */
export type EdgesMeasured = {
  readonly formats: readonly FormatSeries[] | null;
  readonly mcp: readonly McpSeries[] | null;
  readonly upstreams: readonly UpstreamSeries[] | null;
  readonly notes: NotesMeasured | null;
  readonly files: FilesMeasured | null;
};

/** Measures what was asked for of formats, MCP door, upstreams, notes and files, one after the other. */
export const measureEdges = async (part: Part): Promise<EdgesMeasured> => {
  const { parts } = part.options;
  return {
    formats: parts.includes('formats') ? await measureFormats(part) : null,
    mcp: parts.includes('mcp') ? await measureMcp(part) : null,
    upstreams: parts.includes('upstream') ? await measureUpstream(part) : null,
    notes: parts.includes('notes') ? await measureNotes(part) : null,
    files: parts.includes('files') ? await measureFiles(part) : null,
  };
};
