import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { expect, onTestFinished, test } from 'vitest';
import { makeIssuerKey, sign, startIssuer } from '#test/auth/issuer-lab.ts';

// Whoever loses its key, or its right to a tool, loses what it reads; whoever has it still reads on.

const [GONE, NARROWED, KEPT] = ['key-that-goes', 'key-that-is-narrowed', 'key-that-stays'] as const;

const keysOf = (...entries: readonly string[]): string => `${entries.join('\n')}\n`;
const BEFORE = keysOf(...[GONE, NARROWED, KEPT].map((key) => toKeyEntry('acme', key)));
const AFTER = keysOf(toKeyEntry('acme', NARROWED, 'tools=other'), toKeyEntry('acme', KEPT));

const startWithKeys = async (tools: Parameters<typeof startLab>[0], environment: Readonly<Record<string, string>>) => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-revoked-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'keys');
  writeFileSync(file, BEFORE);
  const { service } = await startLab(tools, { API_KEYS_FILE: file, ...environment });
  return { service, revoke: () => writeFileSync(file, AFTER) };
};

/** What a stream had sent when it ended, and whether it ended as a whole answer does. */
const readToEnd = async (answer: Response): Promise<{ readonly text: string; readonly end: 'whole' | 'cut off' }> => {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of answer.body ?? []) text += decoder.decode(bytes, { stream: true });
    return { text, end: 'whole' };
  } catch (_cut) {
    return { text, end: 'cut off' };
  }
};

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const post = (url: string, key: string, name: string, headers: Readonly<Record<string, string>>) =>
  fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ calls: [{ id: 'a', name, arguments: { of: key } }] }),
  });

test('a key that is revoked or loses a tool loses its streams, polls and waits within seconds; its calls go on', async () => {
  const build = createHeldTool('build', { effects: 'write' });
  const direct = createHeldTool('direct', { effects: 'write', background: 'never' });
  const { service, revoke } = await startWithKeys([build, direct], {});
  const { url } = service;
  const client = createPendingClient(url);
  const { requestId } = await client.begin(
    { calls: [{ id: 'a', name: 'build', arguments: {} }] },
    { headers: bearer(KEPT) },
  );
  const path = `${url}/tool-calls/${requestId}`;
  const readAs = async (key: string) => {
    const headers = bearer(key);
    const stream = readToEnd(await fetch(`${path}/events`, { headers }));
    const batch = readToEnd(await post(url, key, 'direct', { accept: 'text/event-stream' }));
    const poll = fetch(`${path}?wait_ms=30000`, { headers }).then(({ status }) => status);
    const wait = post(url, key, 'build', { prefer: 'respond-async, wait=60' }).then(({ status }) => status);
    return { stream, batch, poll, wait };
  };
  const [gone, narrowed, kept] = [await readAs(GONE), await readAs(NARROWED), await readAs(KEPT)];
  await direct.begun(3);
  await build.begun(4);
  revoke();
  for (const { stream, batch } of [gone, narrowed])
    for (const { text, end } of [await stream, await batch]) {
      expect(end).toBe('cut off');
      expect(text).not.toMatch(/event: (result|done)/);
    }
  expect([await gone.poll, await gone.wait]).toEqual([401, 401]);
  expect([await narrowed.poll, await narrowed.wait]).toEqual([404, 404]);
  direct.release();
  build.release();
  for (const { text, end } of [await kept.stream, await kept.batch]) {
    expect(end).toBe('whole');
    expect(text).toMatch(/event: result[\s\S]*event: done/);
  }
  expect([await kept.poll, await kept.wait]).toEqual([200, 200]);
  // The direct writes of both were let in, and ran to their end.
  const ended = 'recourse_tool_calls_total{tool="direct",outcome="success",code="ok",fault="none"}';
  await expect.poll(() => service.metric(ended)).toBe(3);
});

test('a stream and a poll end when their token does, without done', async () => {
  const build = createHeldTool('build');
  const key = await makeIssuerKey('a');
  const issuer = await startIssuer(key);
  const { service } = await startLab([build], { JWT_JWKS_URL: issuer.url, JWT_AUDIENCE: 'recourse' });
  const long = await sign(key);
  const { requestId } = await createPendingClient(service.url).begin(
    { calls: [{ id: 'a', name: 'build', arguments: {} }] },
    { headers: bearer(long) },
  );
  // Accepted for ten seconds more than it says: two are left.
  const brief = await sign(key, { exp: Math.floor(Date.now() / 1000) - 7 });
  const path = `${service.url}/tool-calls/${requestId}`;
  const stream = readToEnd(await fetch(`${path}/events`, { headers: bearer(brief) }));
  const poll = await fetch(`${path}?wait_ms=30000`, { headers: bearer(brief) });
  expect(poll.status).toBe(401);
  const { text, end } = await stream;
  expect(end).toBe('cut off');
  expect(text).not.toContain('event: done');
  build.release();
});
