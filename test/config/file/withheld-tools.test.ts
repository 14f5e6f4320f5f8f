import { postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { DEADLINE, serverOf, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import type { RunningService } from '@recourse/test-support/start-service.ts';
import { expect, test, vi } from 'vitest';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';

const call = async (service: RunningService, name: string): Promise<ToolResult | undefined> =>
  (await service.call([{ id: '1', name, arguments: {} }]))[0];

const OFF = { tools: { 'pay.out': { enabled: false } } };
// Names beside it that are near enough to be guessed.
const payTools = [toolThat('pay.out', () => 'paid'), toolThat('pay.in', () => 'paid in')];

test('a tool that is switched off is told as that, and no other one is guessed for it', async () => {
  const { service, change } = await startConfigLab(OFF, {}, payTools);
  const off = await call(service, 'pay.out');
  expect(off).toMatchObject({ success: false, outcome: 'retry', executed: 'no', error: { code: 'unknown_tool' } });
  expect(off?.message).toMatch(
    /^Tool 'pay\.out' is disabled\. Use another tool, or say what could not be done\. Available tools: pay\.in, /,
  );
  expect((await call(service, 'pay.ou'))?.message).toMatch(/^Unknown tool: pay\.ou\. Did you mean 'pay\.in'\?/);
  const labels = 'outcome="retry",code="unknown_tool",fault="caller"';
  expect(await service.metric(`recourse_tool_calls_total{tool="_unknown",${labels}}`)).toBe(2);
  await change({});
  expect(await call(service, 'pay.out')).toMatchObject({ success: true, value: 'paid' });
});

test('a model that knows the tool by its portable name is told the same', async () => {
  const { service } = await startConfigLab(OFF, {}, payTools);
  const answer = await fetch(`${service.url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      choices: [
        {
          message: {
            role: 'assistant',
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'pay_out', arguments: '{}' } }],
          },
        },
      ],
    }),
  });
  expect(await answer.text()).toContain("Tool 'pay_out' is disabled. Use another tool,");
});

test('a key that may not use the tool is not told that there is one', async () => {
  const API_KEYS = `${toKeyEntry('acme', 'full')},${toKeyEntry('acme', 'some', 'tools=echo')}`;
  const { service } = await startConfigLab(OFF, { API_KEYS }, payTools);
  const messageFor = async (key: string): Promise<string | undefined> => {
    const { text } = await postAs(service, key, { calls: [{ name: 'pay.out' }] });
    return ToolCallsResponse.parse(JSON.parse(text)).results[0]?.message;
  };
  expect(await messageFor('some')).toBe('Unknown tool: pay.out. Available tools: echo.');
  expect(await messageFor('full')).toMatch(/^Tool 'pay\.out' is disabled\./);
});

test('a tool that is held because it has changed says what it waits for, and not the digest', async () => {
  const toConfig = (word: string) => ({
    mcpServers: { far: serverOf(word, ['say', 'says'], { onChange: 'hold', tools: { include: ['say*'] } }) },
  });
  const { service, change } = await startConfigLab(toConfig('old'));
  expect(await call(service, 'far_say')).toMatchObject({ success: true });
  await change(toConfig('new'));
  await vi.waitFor(
    async () =>
      expect((await call(service, 'far_say'))?.message).toMatch(
        /^Tool 'far_say' has changed and is not available until an operator approves it\. Use another tool, or say what could not be done\. Available tools: (?!.*far_say)/,
      ),
    DEADLINE,
  );
  expect(await call(service, 'far_say')).toMatchObject({ outcome: 'retry', error: { code: 'unknown_tool' } });
});

test('of one name the tool that serves is called, whatever another source has of that name', async () => {
  const { service } = await startConfigLab({ mcpServers: { far: serverOf('far', ['echo'], { prefix: '' }) } });
  const [served] = await service.call([{ id: '1', name: 'echo', arguments: { text: 'hello' } }]);
  expect(served).toMatchObject({ success: true, value: { text: 'hello' } });
});
