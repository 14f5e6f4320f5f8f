// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the file are written so.
import { McpServerSettings } from '@recourse/upstream-mcp/mcp-server-settings';
import { expect, test } from 'vitest';
import { contentOf, mistakesOf } from './config-file-lab.ts';

const urlOf = (url: string, environment: Readonly<Record<string, string>> = {}) =>
  McpServerSettings.parse(contentOf(JSON.stringify({ mcpServers: { a: { url } } }), environment).upstreams[0]?.settings)
    .url;

test('variables stand in texts, alone or among other characters, with a default where they are unset or empty', () => {
  const environment = { HOST: 'mcp.example.com', PORT: '8443', EMPTY: '' };
  expect(urlOf('https://${HOST}:${PORT}/mcp', environment)).toBe('https://mcp.example.com:8443/mcp');
  expect(urlOf('https://${env:HOST}/mcp', environment)).toBe('https://mcp.example.com/mcp');
  expect(urlOf('${URL:-https://default.example.com/a:-b}', environment)).toBe('https://default.example.com/a:-b');
  expect(urlOf('https://a.example.com/${EMPTY:-x}${NONE:-}', environment)).toBe('https://a.example.com/x');
  expect(urlOf('https://a.example.com/$${HOST}$HOST', environment)).toBe('https://a.example.com/${HOST}$HOST');
});

test('what a variable holds is never read as a variable, and names are not expanded', () => {
  expect(urlOf('https://a.example.com/${A}', { A: '${B}', B: 'secret' })).toBe('https://a.example.com/${B}');
  expect(mistakesOf('tools:\n  ${A}:\n    retries: 0', { A: 'echo' }).join()).toContain(
    'is not a valid name: must be a tool name, or a pattern with * for any characters',
  );
  expect(mistakesOf('mcpServers: { a: { url: "https://x.example.com/${constructor}" } }').join()).toContain(
    'needs the environment variable constructor, which is not set',
  );
});

test.each(['${', '${1A}', '${A:-${B}}', '${A', '${/}', '${input:token}', '${workspaceFolder:root}'])(
  '%s is no variable, and said to be none',
  (text) => {
    expect(mistakesOf(JSON.stringify({ mcpServers: { a: { command: text } } }), { A: 'a', B: 'b' })).toEqual([
      'CONFIG_FILE c.yaml line 1, column 21: mcpServers.a.command: has a ${ that does not begin a variable: write ${NAME} or ${NAME:-default}, or $${ for a literal ${',
    ]);
  },
);

test('what is a variable of another host is an ordinary one where the environment has it, or it has a default', () => {
  expect(urlOf('https://${workspaceFolder}/${cwd:-x}', { workspaceFolder: 'a.example.com' })).toBe(
    'https://a.example.com/x',
  );
});

test("an MCP server's own env counts in its other members, as in the programs that read them themselves", () => {
  const text = JSON.stringify({
    mcpServers: {
      a: { command: 'npx', args: ['--header', 'Authorization:${AUTH_HEADER}'], env: { AUTH_HEADER: 'Bearer ${T}' } },
    },
  });
  expect(contentOf(text, { T: 'kx3vQ81nUzT5' }).upstreams).toMatchObject([
    { settings: { args: ['--header', 'Authorization:Bearer kx3vQ81nUzT5'] } },
  ]);
  expect(mistakesOf(text)).toEqual([
    'CONFIG_FILE c.yaml line 1, column 95: mcpServers.a.env.AUTH_HEADER: needs the environment variable T, which is not set',
  ]);
});
