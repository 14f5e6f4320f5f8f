import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { toEvent } from '@recourse/test-support/traced-calls.ts';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { toFailure } from '#src/executor/call-outcome.ts';
import { createFailureLog, createLogBatch } from '#src/telemetry/log-lines.ts';
import { createBatchLineForPeople, logFailureForPeople } from '#src/telemetry/terminal-lines.ts';

const createLab = (level: 'info' | 'debug') => {
  const lines: string[] = [];
  const log = pino({ level, base: null, timestamp: false }, { write: (line: string) => void lines.push(line) });
  const failures = createFailureLog({
    log,
    now: () => 0,
    createReference: () => 'R1',
    logFailure: logFailureForPeople,
  });
  return { log, failures, lines: () => lines.map((line) => JSON.parse(line)) };
};

test('what a model or an upstream wrote stays one line, short, and commands no terminal', () => {
  const { failures, lines } = createLab('info');
  const message = `a\nb\u001b[2J\u009b31m\u202e${'c'.repeat(600)}`;
  failures.write(
    { ...toEvent(), tool: 'echo', session: null, durationMs: 12.34 },
    toFailure('tool_exception', message, null),
  );
  expect(lines()).toEqual([
    {
      level: 40,
      msg: `echo retry/tool_exception: a b\ufffd[2J\ufffd31m\ufffd${'c'.repeat(488)}… (no session, 12 ms, reference R1)`,
    },
  ]);
});

test('with LOG_LEVEL=debug a failed call and a batch have all their fields', () => {
  const { log, failures, lines } = createLab('debug');
  failures.write(toEvent(), toFailure('timeout', 'late', null));
  createBatchLineForPeople(
    log,
    createLogBatch(log),
  )({
    ...{ requestId: 'r', idBy: 'caller' as const, traceId: null, tenant: 't', key: null, session: null },
    ...{ calls: 1, failed: 1, durationMs: 1, slowestCallMs: 1, isResumed: false },
  });
  expect(lines()).toMatchObject([
    { msg: 'tool call failed', code: 'timeout', reference: 'R1' },
    { msg: 'batch', calls: 1 },
  ]);
});

const THROWING = `import { defineTool, z } from 'recourse-server';
export const boom = defineTool({
  name: 'boom',
  description: 'Throws.',
  effects: 'read',
  input: z.object({}),
  run: () => {
    throw new TypeError('not so');
  },
});
`;

test('on a terminal a failed call is one line that says where its tool threw', {
  timeout: timeLimit(60_000),
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-terminal-'));
  writeFileSync(join(directory, 'boom.ts'), THROWING);
  // `script` is a terminal around a command.
  const command = `node ${FROM_SOURCES.join(' ')} ${join(ROOT, 'src/main.ts')} --port 0 --tools ${directory}`;
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
    env: cleanEnvironment({}),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => terminal.once('close', resolve));
  onTestFinished(async () => {
    // What a terminal sends for Ctrl-C.
    terminal.stdin.write('\u0003');
    await ended;
    rmSync(directory, { recursive: true });
  });
  let shown = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const find = (pattern: RegExp) =>
    vi.waitUntil(() => pattern.exec(stripVTControlCharacters(shown)), { timeout: timeLimit(20_000), interval: 20 });
  const [, url = ''] = await find(
    /Recourse serves on (\S+)\.\r?\n {2}console {2}\1\/console\r?\n {2}tools {4}7, 1 of them from/,
  );
  await callService(url, [{ name: 'boom', arguments: {} }], { session_id: 's' });
  await find(
    /\n\[[\d:.]+\] WARN: boom retry\/tool_exception: TypeError: not so \(at \S+\/boom\.ts:8:11, session [0-9a-f]{8}, [\d.]+ ms, reference [0-9A-Z]{26}\)\r?\n\[[\d:.]+\] INFO: batch of 1 call: 1 failed, session [0-9a-f]{8}, [\d.]+ ms\r?\n/,
  );
});
