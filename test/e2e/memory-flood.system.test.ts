import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const MIB = 1024 * 1024;
const KEYS = { flood: randomUUID(), quiet: randomUUID() };
const toEntry = ([tenant, key]: readonly [string, string]): string =>
  `${tenant}=${createHash('sha256').update(key).digest('hex')}`;

// The service itself takes some 35 MB of this heap; so many sessions, were they never forgotten, would take far more than is left.
const HEAP_MB = 64;
const STORE_MB = 8;
const SESSIONS = 3300;
const CONNECTIONS = 8;

// With a character of two bytes before it, each of its own takes two.
const FILLER = 'x'.repeat(140);

const toBody = (session: string, name: string, calls: number): string =>
  JSON.stringify({
    session_id: session,
    calls: Array.from({ length: calls }, (_, at) => ({
      name,
      arguments: { text: `${at} → ${randomUUID()} ${FILLER}` },
    })),
  });

test(
  'new sessions without end leave a service with a small heap alive and flat, and another tenant its budgets and its keys',
  async () => {
    const service = await startProcess({
      by: 'node',
      environment: {
        NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
        STORE_MEMORY_MB: String(STORE_MB),
        // A heap as small has no room for answers of the usual limit.
        MAX_ANSWER_BYTES: '2097152',
        API_KEYS: Object.entries(KEYS).map(toEntry).join(','),
        LOG_LEVEL: 'info',
      },
    });
    const ask = async (key: string, path: string, body?: string, headers: Readonly<Record<string, string>> = {}) => {
      const answer = await fetch(`${service.url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    const readMetric = async (pattern: RegExp): Promise<number> =>
      Number(pattern.exec((await ask(KEYS.quiet, '/metrics')).text)?.[1]);

    const keyed = toBody('quiet', 'echo', 1);
    const key = { 'idempotency-key': 'a key of the quiet tenant' };
    const first = await ask(KEYS.quiet, '/tool-calls', keyed, key);
    await ask(KEYS.quiet, '/tool-calls', toBody('quiet', 'read_file', 1));

    const statuses = new Set<number>();
    const rssMb: number[] = [];
    let sent = 0;
    const flood = async (until: number): Promise<void> => {
      while (sent < until) {
        sent += 1;
        const idempotency = sent % 3 === 0 ? { 'idempotency-key': randomUUID() } : {};
        statuses.add((await ask(KEYS.flood, '/tool-calls', toBody(randomUUID(), 'echo', 10), idempotency)).status);
      }
    };
    for (const part of [1, 2, 3]) {
      await Promise.all(Array.from({ length: CONNECTIONS }, () => flood((part * SESSIONS) / 3)));
      rssMb.push(readRss(service.pid) / MIB);
    }

    expect(statuses).toEqual(new Set([200]));
    expect(rssMb.at(-1)).toBeLessThan(1.25 * (rssMb[0] ?? 0));
    expect(
      await readMetric(/^recourse_store_evictions_total\{store="sessions",reason="share"\} (\d+)$/m),
    ).toBeGreaterThan(1500);
    for (const store of ['sessions', 'journals', 'marks', 'results']) {
      const limit = await readMetric(new RegExp(`^recourse_store_limit_bytes\\{store="${store}"\\} (\\d+)$`, 'm'));
      const bytes = await readMetric(new RegExp(`^recourse_store_bytes\\{store="${store}"\\} (\\d+)$`, 'm'));
      expect(bytes).toBeGreaterThan(0);
      expect(bytes).toBeLessThanOrEqual(limit);
    }
    const kept = JSON.parse((await ask(KEYS.quiet, '/sessions/quiet')).text);
    expect(kept).toMatchObject({
      session: { rounds: 2 },
      tools: [{ name: 'echo' }, { name: 'read_file', failures: 1 }],
    });
    expect(kept.calls).toHaveLength(2);
    const again = await ask(KEYS.quiet, '/tool-calls', keyed, key);
    expect(JSON.parse(again.text).results).toEqual(
      JSON.parse(first.text).results.map((result: object) => expect.objectContaining({ ...result, replayed: true })),
    );
  },
  timeLimit(180_000),
);

const readRss = (pid: number): number => {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
};
