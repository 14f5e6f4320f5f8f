import { servers, startMcpLab, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { toToolLog } from '@recourse/upstreams';
import { pino } from 'pino';
import { loadConfig } from 'recourse-server/internal/config/settings/config.ts';
import { createLogHooks } from 'recourse-server/internal/telemetry/logger.ts';
import { wireRedaction } from 'recourse-server/internal/wiring/wire-redaction.ts';
import { expect, test } from 'vitest';
import { MCP_SERVERS } from '#src/mcp-servers.ts';

/** Starts a server as a configuration file asks for it, and gives what was logged, line by line. */
const startLogged = async (written: Readonly<Record<string, unknown>>) => {
  const loaded = loadConfig({});
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const lines: string[] = [];
  const hooks = createLogHooks(wireRedaction(loaded.config, {}).redactor);
  const log = pino({ base: null, hooks }, { write: (line: string) => void lines.push(line) });
  const [entry] = MCP_SERVERS.parse({ lab: written });
  const plan = await entry?.plan({
    ...{ maxResultBytes: 100_000, directory: '/', environment: {}, version: '0', memories: new Map() },
    logFor: (upstream) => toToolLog(log.child({ upstream })),
    ...{ holdsSecret: () => false, mayRead: async () => true, readWorkspaceFile: async () => new Uint8Array() },
  });
  const source = plan?.create(() => undefined);
  await source?.start();
  return { lines, source };
};

const keysOf = (line: string): readonly string[] => [...line.matchAll(/"(\w+)":/g)].map(([, key = '']) => key);

test.each(['garbage', 'crash'])('every line about a server (%s) names it once, and repeats no key', async (start) => {
  const { lines, source } = await startLogged({ ...servers.scripted(start), autoApprove: [] });
  await source?.stop();
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) {
    expect(JSON.parse(line)).toMatchObject({ upstream: 'mcp:lab' });
    expect(keysOf(line)).toEqual([...new Set(keysOf(line))]);
  }
});

test('a server that is stopped is no server that is down', async () => {
  await using lab = await startMcpLab(servers.scripted());
  await lab.upstream.stop();
  expect(lab.logged.filter(({ message }) => message === 'MCP server down')).toEqual([]);
  expect(lab.logged.at(-1)).toEqual({ level: 'info', message: 'MCP server stopped', fields: {} });
});

test('a server that is stopped while it cannot be reached is told once as down, and once as stopped', async () => {
  await using lab = await startMcpLab({ url: 'http://127.0.0.1:9/mcp' });
  await until(() => expect(lab.upstream.state().status).toBe('down'));
  await lab.upstream.stop();
  const told = lab.logged.map(({ message }) => message).filter((message) => /down|stopped/.test(message));
  expect(told).toEqual(['MCP server down', 'MCP server stopped']);
});
