import { servers, startMcpLab } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { expect, test } from 'vitest';

test.each([
  ['its own name', 'two words'],
  ['the name that models call it by', 'lab_two_words'],
])('a tool is left out where %s holds a secret, and no line of the log shows it', async (_name, secret) => {
  await using lab = await startMcpLab(servers.scripted(), { holdsSecret: (text) => text.includes(secret) });
  const { tools, unavailable } = lab.latest();
  const names = [...tools.map(({ name }) => name), ...unavailable.map(({ facts }) => facts.name)];
  expect(names).toContain('lab_echo');
  expect(names).not.toContain('lab_two_words');
  expect(lab.logged).toContainEqual({
    level: 'warn',
    message: 'tools of an MCP server left out: their names contain a secret',
    fields: { tools: 1 },
  });
  expect(JSON.stringify(lab.logged)).not.toMatch(/two[ _]words/);
});
