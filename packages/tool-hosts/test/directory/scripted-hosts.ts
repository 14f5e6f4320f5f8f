import { dirname, join, relative } from 'node:path';
import type { ToolFile } from 'recourse-server/internal/tools/tool.ts';
import type { LoadedFacts, LoadedToolFile, ToolFileHosts } from '#src/directory/load-tool-file.ts';

export type ScriptedHosts = ToolFileHosts & {
  /** Names of the files that were loaded or retired, in that order, and how many loads ran together at most. */
  readonly loaded: string[];
  readonly retired: ToolFile[];
  readonly mostAtOnce: () => number;
  readonly machine: { isBusy: boolean };
};

const DIRECTIVE = /^(tool|inline keyed|inline|keyed|reducer|import|throw|break) (\S.*)$/gm;

/**
 * Stands for the processes that load tool files: here a file is a few lines `tool name`, `inline name`, `reducer name`,
 * `keyed name` or `inline keyed name` (whose `breakerKey` is a function), `import ./file`, `throw reason`, or `break reason`, at which
 * its process breaks as long as `machine` is busy. Loading takes a turn of the event loop.
 */
export const createScriptedHosts = (): ScriptedHosts => {
  const loaded: string[] = [];
  const retired: ToolFile[] = [];
  const machine = { isBusy: true };
  let running = 0;
  let most = 0;
  return {
    loaded,
    retired,
    machine,
    mostAtOnce: () => most,
    retire: (file) => void retired.push(file),
    load: async (file) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      loaded.push(relative(file.root, file.path));
      return loadScript(file, machine);
    },
  };
};

const loadScript = (file: ToolFile, machine: ScriptedHosts['machine']): LoadedToolFile => {
  const imported = [file.path];
  const lines: (readonly [string, string])[] = [];
  for (const path of imported) {
    const text = file.sources.get(path) ?? `throw Cannot find module '${path}'`;
    const found = [...text.matchAll(DIRECTIVE)].map(([, word = '', value = '']) => [word, value] as const);
    lines.push(...found);
    imported.push(...found.flatMap(([word, value]) => (word === 'import' ? join(dirname(path), value) : [])));
  }
  const thrown = lines.find(([word]) => word === 'throw');
  if (thrown !== undefined) return { kind: 'failed', reason: `Error: ${thrown[1]}`, thrown: null };
  const broken = lines.find(([word]) => word === 'break');
  if (broken !== undefined && machine.isBusy) return { kind: 'broken', reason: broken[1] };
  const tools = lines.flatMap(([word, value]) => {
    const declared = DECLARED.get(word);
    return declared === undefined ? [] : { ...factsOf(value), ...declared };
  });
  return { kind: 'loaded', tools, imported, unexported: [], lookalikes: [] };
};

const DECLARED: ReadonlyMap<string, Partial<LoadedFacts>> = new Map<string, Partial<LoadedFacts>>([
  ['tool', {}],
  ['inline', { isolation: 'inline' }],
  ['keyed', { inlineOnly: 'breakerKey' }],
  ['inline keyed', { isolation: 'inline', inlineOnly: 'breakerKey' }],
  ['reducer', { role: 'reducer' }],
]);

const factsOf = (name: string): LoadedFacts => ({
  role: 'tool',
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
  maxCallsPerSession: null,
  polling: false,
  background: 'never',
  maxDurationMs: 3_600_000,
  breakerKey: null,
  reconcileTimeoutMs: null,
  asksApproval: false,
  previews: false,
  reconcileBy: null,
  upstream: null,
  source: 'builtin',
  exampleArguments: '{}',
  isolation: 'process',
  env: [],
  inlineOnly: null,
  holds: false,
  handlerTexts: null,
  place: null,
});
