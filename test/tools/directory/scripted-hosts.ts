import { dirname, join, relative } from 'node:path';
import type { LoadedToolFile, ToolFileHosts } from '#src/tools/directory/load-tool-file.ts';
import type { ToolFacts, ToolFile } from '#src/tools/tool.ts';

export type ScriptedHosts = ToolFileHosts & {
  /** Names of the files that were loaded or retired, in that order, and how many loads ran together at most. */
  readonly loaded: string[];
  readonly retired: ToolFile[];
  readonly mostAtOnce: () => number;
};

const DIRECTIVE = /^(tool|inline|import|throw) (.+)$/gm;

/**
 * Stands for the processes that load tool files: here a file is a few lines `tool name`, `inline name`,
 * `import ./file`, `throw reason`. Loading takes a turn of the event loop.
 */
export const createScriptedHosts = (): ScriptedHosts => {
  const loaded: string[] = [];
  const retired: ToolFile[] = [];
  let running = 0;
  let most = 0;
  return {
    loaded,
    retired,
    mostAtOnce: () => most,
    retire: (file) => void retired.push(file),
    load: async (file) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      loaded.push(relative(file.root, file.path));
      return loadScript(file);
    },
  };
};

const loadScript = (file: ToolFile): LoadedToolFile => {
  const imported = [file.path];
  const lines: (readonly [string, string])[] = [];
  for (const path of imported) {
    const text = file.sources.get(path) ?? `throw Cannot find module '${path}'`;
    const found = [...text.matchAll(DIRECTIVE)].map(([, word = '', value = '']) => [word, value] as const);
    lines.push(...found);
    imported.push(...found.flatMap(([word, value]) => (word === 'import' ? join(dirname(path), value) : [])));
  }
  const thrown = lines.find(([word]) => word === 'throw');
  if (thrown !== undefined) return { kind: 'failed', reason: `Error: ${thrown[1]}` };
  const tools = lines.flatMap(([word, value]) => {
    if (word === 'tool') return factsOf(value, 'process');
    return word === 'inline' ? factsOf(value, 'inline') : [];
  });
  return { kind: 'loaded', tools, imported };
};

const factsOf = (name: string, isolation: ToolFacts['isolation']): ToolFacts => ({
  name,
  description: `Is called ${name}.`,
  effects: 'read',
  inputSchema: { type: 'object' },
  outputSchema: null,
  retries: 3,
  timeoutMs: 30_000,
  gracefulErrors: null,
  sequential: false,
  concurrency: null,
  source: 'builtin',
  exampleArguments: '{}',
  isolation,
  env: [],
});
