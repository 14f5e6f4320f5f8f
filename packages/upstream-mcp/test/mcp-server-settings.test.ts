import { expect, test } from 'vitest';
import { listUnknownMembers, McpServerSettings } from '#src/mcp-server-settings.ts';

const mistakesOf = (settings: unknown): readonly string[] =>
  McpServerSettings.safeParse(settings).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];

test.each([
  { command: 'npx', args: ['-y', 'server'], env: { A: 'b' }, cwd: '/tmp' },
  { type: 'stdio', command: 'server' },
  { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer x' } },
  { type: 'streamable-http', url: 'http://127.0.0.1:1/mcp' },
  { type: 'sse', url: 'http://127.0.0.1:1/sse', disabled: true, autoApprove: [], timeout: 5 },
  { command: 'server', prefix: '', effects: { a: 'read' }, onChange: 'hold', approved: { a: '0f' }, concurrency: 2 },
])('what people have is taken as it is: %j', (settings) => {
  expect(mistakesOf(settings)).toEqual([]);
});

test.each([
  [{}, [': needs either a command or a url']],
  [{ command: 'a', url: 'http://a' }, [': needs either a command or a url']],
  [{ type: 'http', command: 'a' }, [': type http needs a url']],
  [{ type: 'stdio', url: 'http://a' }, [': type stdio needs a command']],
  [{ url: 'file:///etc/passwd' }, ['url: Invalid URL']],
  [{ command: 'a', prefix: 'a b' }, ['prefix: must be at most 48 of A-Z a-z 0-9 _ . -']],
  [{ command: 'a', tools: { exclude: 'b' } }, ['tools.exclude: Invalid input: expected array, received string']],
])('%j is a mistake', (settings, mistakes) => {
  expect(mistakesOf(settings)).toEqual(mistakes);
});

test('members that only other hosts know are kept apart', () => {
  const settings = McpServerSettings.parse({ command: 'a', alwaysAllow: [], trust: true });
  expect(listUnknownMembers(settings)).toEqual(['alwaysAllow', 'trust']);
});
