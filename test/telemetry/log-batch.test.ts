import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BatchAnswered } from '#src/executor/call-observer.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { createLogBatch } from '#src/telemetry/log-lines.ts';
import { createJsonLog, type LogLevel, type LogLevels } from '#src/telemetry/logger.ts';

const SECRET = 'kx3vQ81nUzT5';

const FROM = String.raw`"service":"recourse","version":"1.2.3","instance":"pod \"é\""`;
const ORIGIN = { service: 'recourse', version: '1.2.3', instance: 'pod "é"' };

const start = (level: LogLevel = 'info', levels: LogLevels = 'number') => {
  const lines: string[] = [];
  const redactor = createRedactor({ secrets: [SECRET] });
  const { log, logBatch } = createJsonLog(
    { level, levels, origin: ORIGIN, redactor },
    { write: (line) => void lines.push(line) },
  );
  return { lines, logBatch, byPino: createLogBatch(log), log };
};

const BATCH: BatchAnswered = {
  requestId: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  idBy: 'caller',
  traceId: null,
  tenant: 'acme',
  key: null,
  session: null,
  calls: 2,
  failed: 1,
  durationMs: 1.23456,
  slowestCallMs: 0,
  isResumed: false,
};
const TIME = /"time":"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z"/;
const withoutTime = (line: string | undefined): string | undefined => line?.replace(TIME, '"time":"now"');

test('the line of a batch says whose it was and what came of it', () => {
  const { lines, logBatch } = start();
  logBatch(BATCH);
  logBatch({ ...BATCH, traceId: '4bf92f3577b34da6a3ce929d0e0e4736', key: 'ci', session: `acme:${'0f'.repeat(32)}` });
  expect(lines.map(withoutTime)).toEqual([
    `{"level":30,"time":"now",${FROM},"request_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","tenant":"acme","session":null,"calls":2,"failed":1,"duration_ms":1.23,"msg":"batch"}\n`,
    `{"level":30,"time":"now",${FROM},"request_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","tenant":"acme","key":"ci","session":"acme:0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f","calls":2,"failed":1,"duration_ms":1.23,"msg":"batch"}\n`,
  ]);
});

test.each(['number', 'name'] as const)(
  'with levels by %s it is what pino writes, byte for byte, whatever callers chose',
  (levels) => {
    const { lines, logBatch, byPino } = start('info', levels);
    const word = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.stringMatching(/^[A-Za-z0-9_-]{16,64}$/),
      fc.constantFrom(
        `a ${SECRET}`,
        'sk-abcdefghijklmnopqrstuvwx',
        '\u009b31m',
        '"\\\n',
        '\ud800',
        'é',
        'x'.repeat(3000),
      ),
    );
    const maybe = fc.option(word, { nil: null });
    const batch = fc.record({
      requestId: word,
      idBy: fc.constant<'caller'>('caller'),
      traceId: maybe,
      tenant: word,
      key: maybe,
      session: maybe,
      calls: fc.nat(1024),
      failed: fc.nat(1024),
      durationMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
      slowestCallMs: fc.constant(0),
      isResumed: fc.constant(false),
    });
    const property = fc.property(batch, fc.boolean(), (chosen, isOwn) => {
      const answered = isOwn ? { ...chosen, session: `${chosen.tenant}:${'0f'.repeat(32)}` } : chosen;
      lines.length = 0;
      logBatch(answered);
      byPino(answered);
      expect(lines).toHaveLength(2);
      expect(withoutTime(lines[0])).toBe(withoutTime(lines[1]));
      expect(lines.join('')).not.toMatch(/kx3vQ81nUzT5|sk-abc/);
    });
    void fc.assert(property, { numRuns: 1000 });
  },
);

test('it is what pino writes where no text of it is chosen by a caller', () => {
  const { lines, logBatch, byPino } = start();
  const own = { ...BATCH, idBy: 'service', tenant: 'anonymous' } as const;
  const sessions = [null, `anonymous:${'0f'.repeat(32)}`];
  const batch = fc.record({
    session: fc.constantFrom(...sessions),
    calls: fc.nat(1024),
    failed: fc.nat(1024),
    durationMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
  });
  const property = fc.property(batch, (chosen) => {
    lines.length = 0;
    logBatch({ ...own, ...chosen });
    byPino({ ...own, ...chosen });
    expect(withoutTime(lines[0])).toBe(withoutTime(lines[1]));
  });
  void fc.assert(property, { numRuns: 500 });
});

test('levels may be names, in the line of a batch as in others', () => {
  const { lines, logBatch, log } = start('info', 'name');
  logBatch(BATCH);
  log.warn('other');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'info', ...ORIGIN, msg: 'batch' },
    { level: 'warn', ...ORIGIN, msg: 'other' },
  ]);
});

test('a log that is not told of batches has no line of them', () => {
  const { lines, logBatch, log } = start('warn');
  logBatch(BATCH);
  expect(lines).toEqual([]);
  log.warn('other');
  expect(lines).toHaveLength(1);
});
