import { toEvent } from '@recourse/test-support/traced-calls.ts';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { toFailure } from '#src/executor/call-outcome.ts';
import { createFailureLog } from '#src/telemetry/log-lines.ts';

const Line = z.object({
  tenant: z.string(),
  key: z.string().optional(),
  reference: z.string(),
  causes: z.array(z.object({ type: z.string(), message: z.string(), stack: z.array(z.string()) })),
  stacks_under: z.string().optional(),
});

const createLab = () => {
  const lines: string[] = [];
  let moment = 0;
  let references = 0;
  const { write } = createFailureLog({
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    now: () => moment,
    createReference: () => {
      references += 1;
      return `reference ${references}`;
    },
  });
  return {
    pass: (ms: number) => {
      moment += ms;
    },
    fail: (message: string, type = 'NotFound') => {
      const thrown = new Error(message, { cause: new Error(`the cause of ${message}`) });
      const failure = toFailure('tool_exception', message, null, { type, thrown });
      return write({ ...toEvent({ key: 'ci' }), fault: 'tool' }, failure);
    },
    lines: () => lines.map((line) => Line.parse(JSON.parse(line))),
  };
};

test('five lines a minute have stacks, and the others name the last of them and keep the chain of causes; each says whose call it was', () => {
  const lab = createLab();
  for (let at = 1; at <= 7; at += 1) lab.fail(`no file ${at}`);
  const lines = lab.lines();
  expect(lines[0]).toMatchObject({ tenant: 'acme', key: 'ci' });
  expect(lines.map(({ causes }) => causes.map(({ stack }) => stack.length > 0))).toEqual([
    ...Array.from({ length: 5 }, () => [true, true]),
    [false, false],
    [false, false],
  ]);
  expect(lines.map(({ stacks_under }) => stacks_under)).toEqual([
    ...Array.from({ length: 5 }, () => undefined),
    'reference 5',
    'reference 5',
  ]);
  expect(lines[6]?.causes.map(({ message }) => message)).toEqual(['no file 7', 'the cause of no file 7']);
});

test('another type has stacks of its own, and so has the next minute', () => {
  const lab = createLab();
  for (let at = 1; at <= 6; at += 1) lab.fail(`no file ${at}`);
  lab.fail('undefined is no function', 'TypeError');
  lab.pass(60_000);
  lab.fail('no file 8');
  const stacks = lab.lines().map(({ causes }) => (causes[0]?.stack.length ?? 0) > 0);
  expect(stacks).toEqual([true, true, true, true, true, false, true, true]);
});

test('one failure that calls of two tools share has a line for each tool, and none more within a second', () => {
  const lines: string[] = [];
  let references = 0;
  const { write } = createFailureLog({
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    now: () => 0,
    createReference: () => {
      references += 1;
      return `reference ${references}`;
    },
  });
  const failure = toFailure('invalid_arguments', "Required parameter 'x' missing.", null);
  const told = ['add', 'add', 'add', 'sum', 'sum', 'add'].map((tool) => write(toEvent({ tool }), failure));
  expect(told).toEqual(['reference 1', 'reference 1', 'reference 1', 'reference 2', 'reference 2', 'reference 1']);
  expect(lines).toHaveLength(2);
});
