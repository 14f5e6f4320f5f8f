import { type McpLab, servers, startMcpLab, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { expect, test } from 'vitest';

const namesOf = (lab: McpLab): readonly string[] => lab.latest().tools.map(({ name }) => name);
const changesOf = (lab: McpLab) => lab.logged.filter(({ message }) => message === 'tool of an MCP server changed');

test('tools that come and go are offered and taken back', async () => {
  await using lab = await startMcpLab(servers.scripted());
  await lab.call('lab_add_late');
  await until(() => expect(namesOf(lab)).toContain('lab_late'));
  await lab.call('lab_remove_echo');
  await until(() => expect(namesOf(lab)).not.toContain('lab_echo'));
});

test('a server that never tells of changes is asked from time to time', async () => {
  await using lab = await startMcpLab(servers.scripted(), { timing: { pollEveryMs: 100 } });
  await lab.call('lab_forget_silently');
  await until(() => expect(namesOf(lab)).not.toContain('lab_echo'));
});

test('a tool that did not change stays the same object', async () => {
  await using lab = await startMcpLab(servers.scripted());
  const before = lab.tool('lab_pid');
  await lab.call('lab_add_late');
  await until(() => expect(namesOf(lab)).toContain('lab_late'));
  expect(lab.tool('lab_pid')).toBe(before);
});

test('a changed description is logged with both digests and served, unless it is to be held', async () => {
  await using lab = await startMcpLab(servers.scripted());
  await lab.call('lab_change_description');
  await until(() => expect(lab.tool('lab_echo').description).toBe('Sends all to me.'));
  expect(changesOf(lab)).toEqual([
    {
      level: 'warn',
      message: 'tool of an MCP server changed',
      fields: {
        tool: 'echo',
        before: expect.stringMatching(/^[0-9a-f]{32}$/),
        digest: expect.stringMatching(/^[0-9a-f]{32}$/),
        held: false,
      },
    },
  ]);
});

test('a changed tool is held until its digest is approved, or it is as before', async () => {
  await using lab = await startMcpLab({ ...servers.scripted(), onChange: 'hold' });
  await lab.call('lab_change_description');
  await until(() => expect(namesOf(lab)).not.toContain('lab_echo'));
  const digest = String(changesOf(lab)[0]?.fields['digest']);
  const held = lab.latest().unavailable.find(({ facts }) => facts.name === 'lab_echo');
  expect(held?.reason).toBe(`held: its description or its schema has changed; approve digest ${digest}`);
  expect(lab.upstream.state()).toMatchObject({ status: 'held', reason: '1 of its tools are held' });
  await lab.call('lab_change_back');
  await until(() => expect(namesOf(lab)).toContain('lab_echo'));
  expect(lab.upstream.state()).toMatchObject({ status: 'up', reason: null });
  await using approving = await startMcpLab({ ...servers.scripted(), onChange: 'hold', approved: { echo: digest } });
  expect(namesOf(approving)).not.toContain('lab_echo');
  await approving.call('lab_change_description');
  await until(() => expect(approving.tool('lab_echo').description).toBe('Sends all to me.'));
});

test('what was seen before other settings were read is known after', async () => {
  const memory = new Map<string, string>();
  await (await startMcpLab(servers.scripted(), { memory }))[Symbol.asyncDispose]();
  memory.set('echo', 'another digest');
  await using lab = await startMcpLab({ ...servers.scripted(), onChange: 'hold' }, { memory });
  expect(namesOf(lab)).not.toContain('lab_echo');
});

test('only what is included and not excluded is offered, under its prefix or none', async () => {
  const tools = { include: ['*o*', 'set'], exclude: ['*_*', 'progress', 'nothing'] };
  await using lab = await startMcpLab({ ...servers.scripted(), prefix: '', tools, effects: { set: 'write' } });
  expect(namesOf(lab)).toEqual(['echo', 'environment', 'block', 'set', 'two_words']);
  expect(lab.tool('set').effects).toBe('write');
});

test('members that other hosts write are ignored, and said', async () => {
  await using lab = await startMcpLab({ ...servers.scripted(), autoApprove: ['echo'], timeout: 60 });
  expect(lab.logged).toContainEqual({
    level: 'warn',
    message: 'unknown settings of an MCP server ignored',
    fields: { ignored: ['autoApprove', 'timeout'] },
  });
});
