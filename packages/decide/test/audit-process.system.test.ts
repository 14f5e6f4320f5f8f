import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { ofKind, parseAuditLines, readAudit } from './audit-lab.ts';

const start = async (settings: Readonly<Record<string, string>>) => {
  const running = await startProcess({ by: 'node', environment: settings });
  onTestFinished(async () => {
    running.send('SIGKILL', 'service');
    await running.exited;
  });
  const post = async (name: string): Promise<void> => {
    const calls = Array.from({ length: 8 }, (_, at) => ({
      id: `${name}-${at}`,
      name: 'echo',
      arguments: { text: name },
    }));
    const answer = await fetch(`${running.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': name },
      body: JSON.stringify({ calls }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
  };
  return { running, post };
};

const idsOf = (...paths: readonly string[]): readonly string[] =>
  paths.flatMap((path) => ofKind(readAudit(path), 'call').map(({ call_id }) => String(call_id)));

const idsFrom = (names: readonly string[]): readonly string[] =>
  names.flatMap((name) => Array.from({ length: 8 }, (_, at) => `${name}-${at}`));

test('a file that logrotate moves while calls run loses no line, and has none twice', {
  timeout: timeLimit(60_000),
}, async () => {
  const path = join(makeDirectory().root, 'audit.jsonl');
  const { running, post } = await start({ AUDIT: `file:${path}` });
  const sent: string[] = [];
  let isOver = false;
  const calling = Array.from({ length: 4 }, async (_, client) => {
    for (let at = 0; !isOver; at += 1) {
      sent.push(`b-${client}-${at}`);
      await post(`b-${client}-${at}`);
    }
  });
  const moved: string[] = [];
  for (const generation of [1, 2, 3, 4]) {
    await expect.poll(() => existsSync(path), { timeout: 20_000 }).toBe(true);
    await pause(150);
    moved.push(`${path}.${generation}`);
    renameSync(path, `${path}.${generation}`);
    running.send('SIGHUP', 'service');
  }
  isOver = true;
  await Promise.all(calling);
  running.send('SIGTERM', 'service');
  expect(await running.exited).toMatchObject({ code: 0 });
  expect(idsOf(...moved, path).toSorted()).toEqual(idsFrom(sent).toSorted());
});

test('what was answered 100 ms before a kill is there, and all that was answered before a stop', {
  timeout: timeLimit(60_000),
}, async () => {
  const path = join(makeDirectory().root, 'audit.jsonl');
  const { running, post } = await start({ AUDIT: `file:${path}` });
  await post('early');
  // Longer than the interval, on a machine that is busy.
  await expect.poll(() => readFileSync(path, 'utf8').split('\n').length - 1, { timeout: 20_000 }).toBe(8);
  await post('late');
  running.send('SIGKILL', 'service');
  await running.exited;
  expect(idsOf(path).slice(0, 8)).toEqual(idsFrom(['early']));
  const next = await start({ AUDIT: `file:${path}` });
  await next.post('next');
  next.running.send('SIGTERM', 'service');
  expect(await next.running.exited).toMatchObject({ code: 0 });
  expect(idsOf(path).slice(-8)).toEqual(idsFrom(['next']));
});

test('on stdout lines stand whole among those of the log, and begin as none of them does', {
  timeout: timeLimit(60_000),
}, async () => {
  const { running, post } = await start({ AUDIT: 'stdout', LOG_LEVEL: 'info' });
  await post('one');
  running.send('SIGTERM', 'service');
  await running.exited;
  const lines = running.logLines().map((line) => JSON.stringify(line));
  const audited = lines.filter((line) => line.startsWith('{"audit":1,'));
  expect(parseAuditLines(`${audited.join('\n')}\n`)).toHaveLength(8);
  expect(lines.length).toBeGreaterThan(8);
});

test('on a full disk calls go on, and the log says why no line is written', {
  timeout: timeLimit(60_000),
}, async () => {
  const { running, post } = await start({ AUDIT: 'file:/dev/full' });
  await post('one');
  expect(await running.logged('audit log cannot be written')).toMatchObject({ problem: 'ENOSPC' });
  await post('two');
  const metrics = await (await fetch(`${running.url}/metrics`)).text();
  expect(metrics).toContain('recourse_audit_up 0');
  running.send('SIGTERM', 'service');
  expect(await running.exited).toMatchObject({ code: 0 });
});
