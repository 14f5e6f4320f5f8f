import { relative } from 'node:path';
import { isNestedDeeper } from '../is-nested-deeper.ts';
import { MOST_SCHEMA_LEVELS } from '../schema-check.ts';
import type { InlineTool, ToolFacts, ToolFile } from '../tool.ts';
import { type LoadVersion, needsHosts } from './file-versions.ts';
import type { LoadedToolFile, ToolFileHosts } from './load-tool-file.ts';
import type { DirectoryLog } from './log-changes.ts';

export type InlineTools = {
  /** Names of tools that may run inside the service. */
  readonly allowed: ReadonlySet<string>;
  /** Imports the file into this process and gives its tools. Rejects where that fails. */
  readonly load: (file: ToolFile) => Promise<readonly InlineTool[]>;
};

export type LoadVersionOptions = {
  readonly hosts: ToolFileHosts;
  readonly inline: InlineTools;
  readonly log: DirectoryLog;
};

/** Loads in a process of its own; and where a tool asks for it and the operator names it, inside the service as well. */
export const createLoadVersion = (options: LoadVersionOptions): LoadVersion => {
  const load = createLoad(options);
  return async (file) => {
    const loaded = await load(file);
    // The process that loaded it would wait for calls that never come.
    if (loaded.kind === 'loaded' && !needsHosts(loaded)) options.hosts.retire(file);
    return loaded;
  };
};

const createLoad =
  ({ hosts, inline, log }: LoadVersionOptions): LoadVersion =>
  async (file) => {
    const loaded = await hosts.load(file);
    if (loaded.kind === 'failed') return loaded;
    const tooDeep = loaded.tools.find(isTooDeep);
    if (tooDeep !== undefined) {
      hosts.retire(file);
      return {
        kind: 'failed',
        reason: `Tool '${tooDeep.name}': its schema is nested more than ${MOST_SCHEMA_LEVELS} levels deep.`,
        thrown: null,
      };
    }
    const asking = loaded.tools.filter(({ isolation }) => isolation === 'inline');
    const allowed = asking.filter(({ name }) => inline.allowed.has(name));
    for (const { name } of asking.filter((facts) => !allowed.includes(facts)))
      log.warn(
        { tool: name, file: relative(file.root, file.path) },
        'tool runs in a process of its own, for TOOLS_INLINE does not name it',
      );
    if (allowed.length === 0) return { ...loaded, inline: new Map() };
    const inside = await inline.load(file).then((tools) => withInline(loaded, allowed, tools), toFailed);
    if (inside.kind === 'failed') hosts.retire(file);
    return inside;
  };

// `defineTool` refuses it, too; but what it made may have been changed by its file.
const isTooDeep = ({ inputSchema, outputSchema }: ToolFacts): boolean =>
  [inputSchema, outputSchema].some((schema) => isNestedDeeper(schema, MOST_SCHEMA_LEVELS));

type Loaded = Extract<LoadedToolFile, { kind: 'loaded' }>;

const withInline = (loaded: Loaded, allowed: readonly ToolFacts[], tools: readonly InlineTool[]) => {
  const names = new Set(allowed.map(({ name }) => name));
  const offered = tools.filter(({ role, name }) => role === 'tool' && names.has(name));
  const inline = new Map(offered.map((tool) => [tool.name, tool]));
  const missing = [...names].find((name) => !inline.has(name));
  if (missing !== undefined) return toFailed(new Error(`the service finds no tool '${missing}' in it`));
  return { ...loaded, inline };
};

const toFailed = (error: unknown) => {
  const reason = error instanceof Error ? error.message : String(error);
  return { kind: 'failed' as const, reason: `It cannot be loaded inside the service: ${reason}`, thrown: null };
};
