import { basename } from 'node:path';
import { type HostProcesses, watchHostProcesses } from '@recourse/test-support/host-processes.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import type { Death, RestartReason } from '@recourse/tool-hosts/classify-death';
import { createIsolation, type Isolation, type IsolationSettings } from '@recourse/tool-hosts/create-isolation';
import { readDirectory } from '@recourse/tool-hosts/directory/read-directory';
import type { IsolationObserver } from '@recourse/tool-hosts/host-observer';
import { PROC_TABLE } from '@recourse/tool-hosts/process-table';
import { onTestFinished } from 'vitest';
import { CallContext } from '#src/executor/call-context.ts';
import type { RunOutcome } from '#src/executor/deadline.ts';
import { createCancellation } from '#src/executor/deadline.ts';
import type { HostedTool, ToolFacts, ToolFile } from '#src/tools/tool.ts';

export type EndedHost = { readonly death: Death; readonly restart: RestartReason | null };

/** A loaded version of a tool file, and how to call its tools. */
export type LabFile = {
  readonly file: ToolFile;
  /** Never rejects. Without a deadline, for whatever ends it. */
  readonly call: (
    tool: string,
    input?: Readonly<Record<string, unknown>>,
    timeoutMs?: number,
    about?: CallAbout,
  ) => Promise<RunOutcome>;
  readonly tool: (name: string, role?: 'tool' | 'reducer') => HostedTool;
};

export type CallAbout = {
  readonly role?: 'tool' | 'reducer';
  readonly idempotencyKey?: string;
  readonly effectId?: string;
};

/** Real tool hosts without the service around them. */
export type Lab = {
  readonly isolation: Isolation;
  readonly processes: HostProcesses;
  /** The tools directory. */
  readonly root: string;
  readonly ended: readonly EndedHost[];
  /** File and reason of each time that one lost its place among others. */
  readonly offences: readonly string[];
  /** Loads this text as a version of `tools.ts`, or of the file named. */
  readonly load: (text: string, name?: string) => Promise<LabFile>;
  /** Loads these texts together; of a file that fails the reason. */
  readonly loadAll: (texts: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, LabFile | string>>;
  readonly hostCount: () => number;
};

const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
} as const;

type LabSettings = Partial<IsolationSettings & Pick<IsolationObserver, 'hostUnusable'>>;

export const openLab = ({ hostUnusable = () => undefined, ...settings }: LabSettings = {}): Lab => {
  const processes = watchHostProcesses();
  const ended: EndedHost[] = [];
  const offences: string[] = [];
  const { now = () => performance.now() } = settings;
  const isolation = createIsolation({
    minHosts: 1,
    maxHosts: 4,
    maxCalls: 1000,
    memoryMb: 512,
    maxResultBytes: 1_048_576,
    permissions: ['fs-read', 'fs-write', 'net', 'child'],
    environment: { ...process.env, ...processes.environment },
    sharedVariables: ['RECOURSE_TEST_RUN'],
    allowedVariables: [],
    ownTools: [],
    processes: PROC_TABLE,
    now,
    observer: {
      hostEnded: (_file, death, restart) => void ended.push({ death, restart }),
      messageDropped: () => undefined,
      strayThrown: () => undefined,
      hostUnusable,
      fileOffended: (file, offence) => void offences.push(`${basename(file)} ${offence}`),
      lineWritten: () => undefined,
      hostObtained: () => undefined,
    },
    ...settings,
  });
  onTestFinished(() => isolation.close());
  const { root, write } = makeDirectory();
  const loadAll: Lab['loadAll'] = async (texts) => {
    for (const [name, text] of texts) write(name, text);
    const { sources } = await readDirectory(root);
    const loading = [...texts.keys()].map(async (name) => {
      const file: ToolFile = { path: `${root}/${name}`, root, sources };
      const loaded = await isolation.hosts.load(file);
      return [name, loaded.kind !== 'loaded' ? loaded.reason : toLabFile(isolation, file, loaded.tools, now)] as const;
    });
    return new Map(await Promise.all(loading));
  };
  return {
    isolation,
    processes,
    root,
    ended,
    offences,
    load: async (text, name = 'tools.ts') => {
      const loaded = await loadAll(new Map([[name, text]]));
      const file = loaded.get(name);
      if (file === undefined || typeof file === 'string') throw new Error(`${name}: ${file}`);
      return file;
    },
    loadAll,
    hostCount: () => isolation.count('starting') + isolation.count('idle') + isolation.count('busy'),
  };
};

const toLabFile = (isolation: Isolation, file: ToolFile, facts: readonly ToolFacts[], now: () => number): LabFile => {
  const tool = (name: string, role: ToolFacts['role'] = 'tool'): HostedTool => {
    const found = facts.find((candidate) => candidate.name === name && candidate.role === role);
    if (found === undefined) throw new Error(`${file.path} has no tool ${name}`);
    return { ...found, runsIn: 'host', file };
  };
  return {
    file,
    tool,
    call: async (name, input = {}, timeoutMs = 60_000, { role, ...keys } = {}) => {
      const end = createCancellation(60_000, { isGone: () => false, whenGone: () => () => undefined }, { now });
      const ids = {
        requestId: 'r',
        tool: name,
        callId: null,
        session: null,
        effects: 'read' as const,
        retriesLeft: 0,
        timeoutMs,
        ...keys,
      };
      const context = new CallContext({ ...ids, createLog: () => SILENT });
      const ran = await isolation.runHosted(tool(name, role), input, {
        context,
        timeoutMs,
        cancellation: end,
        graceful: 'on',
      });
      end.close();
      return ran;
    },
  };
};

/** The JSON value of a success; a failure's code, what it says of being executed and when to come back. */
export const toOutcome = (ran: RunOutcome): unknown => {
  if (ran.kind !== 'ended') return ran.kind;
  if (ran.outcome.kind === 'success') return JSON.parse(ran.outcome.valueJson);
  const { code, executed, retryAfterMs } = ran.outcome.failure;
  return { code, executed, retryAfterMs };
};

/** A tool file: `tools` are names and what their handlers return. */
export const toolFile = (tools: Readonly<Record<string, string>>, imports = ''): string => `
  import { spawn } from 'node:child_process';
  import { existsSync, writeFileSync } from 'node:fs';
  import { setTimeout as wait } from 'node:timers/promises';
  import { defineTool } from 'recourse-server';
  ${imports}
  const tool = (name, run) =>
    defineTool({ name, description: '', effects: 'read', input: { type: 'object', additionalProperties: true }, run });
  export const tools = [
    ${Object.entries(tools)
      .map(([name, body]) => `tool('${name}', async (input, context) => { ${body} })`)
      .join(',\n')}
  ];
`;
