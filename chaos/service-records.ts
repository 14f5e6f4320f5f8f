import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Accounts } from './accounts.ts';
import { type Replica, readText } from './replica.ts';
import type { Doubts } from './send-load.ts';

const VIOLATIONS = /^recourse_contract_violations_total (\d+)$/m;
const INTERNAL_ERRORS = /^recourse_tool_call_failures_total\{[^}]*code="internal_error"[^}]*\} ([1-9]\d*)$/gm;

/** Reads a replica's metrics: bugs it has counted itself. To be asked before a life ends. */
export const checkMetrics = async (replica: Replica, accounts: Accounts): Promise<void> => {
  const text = await readText(`${replica.url}/metrics`);
  if (text === null) return;
  accounts.add('metrics read');
  const violations = VIOLATIONS.exec(text)?.[1] ?? 'none';
  if (violations !== '0') accounts.offend('service_bug', `${replica.name}: contract_violations_total ${violations}`);
  for (const [line] of text.matchAll(INTERNAL_ERRORS)) accounts.offend('service_bug', `${replica.name}: ${line}`);
};

type LogLine = { readonly level: number; readonly message: string; readonly requestId: string };

// What the service says where it meets a bug of its own; other errors may be a tool's or its file's.
const BUG_LINES: ReadonlySet<string> = new Set([
  'contract violated',
  'observer failed',
  'unhandled rejection',
  'request failed',
]);
const ERROR_LEVEL = 50;

/**
 * Reads a replica's whole log. A batch that its client saw refused must not stand there as accepted, and no line may
 * tell of a bug of the service.
 */
export const checkLog = async (replica: Replica, doubts: Doubts, accounts: Accounts): Promise<void> => {
  for await (const text of createInterface({ input: createReadStream(replica.logFile) })) {
    const line = toLogLine(text);
    if (line === null) {
      accounts.offend('service_bug', `${replica.name} logged what is no line of a log: ${text}`);
      continue;
    }
    accounts.add('log lines');
    if (line.level >= ERROR_LEVEL) accounts.add(`error lines: ${line.message}`);
    if (BUG_LINES.has(line.message)) accounts.offend('service_bug', `${replica.name} logged ${text}`);
    if (line.message === 'batch') checkBatchLine(line.requestId, doubts, accounts);
  }
};

/** Reads what a replica said on stderr over all its lives: Node warns there, and dies there. */
export const checkStderr = (replica: Replica, accounts: Accounts): void => {
  for (const line of readFileSync(`${replica.logFile}.stderr`, 'utf8').split('\n'))
    if (/warning|error|fatal/i.test(line)) accounts.offend('service_bug', `${replica.name} on stderr: ${line}`);
};

const checkBatchLine = (id: string, { unavailable, broken }: Doubts, accounts: Accounts): void => {
  if (unavailable.has(id)) accounts.offend('accepted_503', `${id} was answered 503 and run`);
  const reason = broken.get(id);
  if (reason !== undefined) accounts.offend('lost_batch', `${id} was run, and its connection broke: ${reason}`);
};

const toLogLine = (text: string): LogLine | null => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    return {
      level: Number(Reflect.get(value, 'level')),
      message: String(Reflect.get(value, 'msg')),
      requestId: String(Reflect.get(value, 'request_id')),
    };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};
