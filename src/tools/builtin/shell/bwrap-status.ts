import type { Readable } from 'node:stream';
import * as z from 'zod';

/** What bubblewrap says of the sandbox, on a file descriptor that the command does not have. */
export type BwrapStatus = {
  /** Of the command; null until it has ended, and for ever where it never began. */
  readonly exitCode: () => number | null;
  readonly firstPid: () => number | null;
};

// Two short lines of JSON; bwrap(1), --json-status-fd.
const MAX_STATUS_LENGTH = 4096;
const StatusLine = z.looseObject({
  'child-pid': z.int().positive().optional(),
  'exit-code': z.int().min(0).max(255).optional(),
});

/** Reads it to its end. `onFirstProcess` gets the id of the sandbox's first process as the host sees it, once. */
export const readStatus = (stream: Readable | null, onFirstProcess: (pid: number) => void): BwrapStatus => {
  let rest = '';
  let exitCode: number | null = null;
  let firstPid: number | null = null;
  const take = (line: string): void => {
    const status = parseLine(line);
    exitCode ??= status['exit-code'] ?? null;
    if (firstPid !== null || status['child-pid'] === undefined) return;
    firstPid = status['child-pid'];
    onFirstProcess(firstPid);
  };
  stream?.on('error', () => undefined);
  stream?.on('data', (chunk: Buffer) => {
    const lines = `${rest}${chunk.toString('latin1')}`.split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_STATUS_LENGTH);
    for (const line of lines) take(line);
  });
  return { exitCode: () => exitCode, firstPid: () => firstPid };
};

const parseLine = (line: string): z.infer<typeof StatusLine> => {
  try {
    return StatusLine.safeParse(JSON.parse(line)).data ?? {};
  } catch (_noJson) {
    return {};
  }
};
