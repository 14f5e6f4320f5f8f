import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { DEADLINE, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import type { Script } from '@recourse/test-support/providers/provider.ts';
import { startProviderEndpoint } from '@recourse/test-support/providers/provider-endpoint.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

const EXAMPLES = ['openai-agents.ts', 'vercel-ai.ts'].map((name) => `examples/approvals/${name}`);

test('Every example of approvals is run here, and has less than 80 lines', () => {
  expect(globSync('examples/approvals/*').toSorted()).toEqual(EXAMPLES);
  for (const file of EXAMPLES) expect(readFileSync(file, 'utf8').split('\n').length, file).toBeLessThan(80);
});

const AGENT = 'agent-0123456789abcdef';
const OPERATOR = 'operator-0123456789abcdef';
const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');
const API_KEYS = `team=${hashOf(AGENT)} name=agent, team=${hashOf(OPERATOR)} name=ann may=read|approve`;

const REFUND = { calls: [{ id: 'call_1', name: 'refund', arguments: { order: '7', amount: 90 } }] };
const sayResult: Script = ({ rounds }) => (rounds.length === 0 ? REFUND : { text: rounds[0]?.[0]?.text ?? 'nothing' });

const Listed = z.object({
  approvals: z.array(z.object({ id: z.string(), digest: z.string(), summary: z.string() })),
});

/** An agent that refunds, between a scripted model and a service where a person decides on refunds. */
const play = async (file: string, decision: Readonly<Record<string, unknown>>) => {
  const ledger: unknown[] = [];
  const refund = defineTool({
    ...{ name: 'refund', description: 'Refunds an order.', effects: 'write' },
    input: z.object({ order: z.string(), amount: z.number() }),
    run: (payment) => {
      ledger.push(payment);
      return { refunded: payment.amount };
    },
  });
  const rules = [{ tools: 'refund', decide: 'ask', edit: true, summary: 'Refund {/amount} for order {/order}' }];
  const { service } = await startConfigLab({ approvals: { rules } }, { API_KEYS }, [refund]);
  const endpoint = await startProviderEndpoint(createOpenaiResponses(), sayResult);
  onTestFinished(endpoint.stop);
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, ['--conditions=@recourse/source', file, 'Refund order 7.'], {
    env: {
      ...{ PATH, OPENAI_API_KEY: 'key', OPENAI_BASE_URL: `${endpoint.url}/v1` },
      ...{ RECOURSE_URL: service.url, RECOURSE_API_KEY: AGENT, AI_SDK_LOG_WARNINGS: 'false' },
    },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { output: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (part: string) => (said.output += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (said.errors += part));
  const ended = once(child, 'close');
  const headers = { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' };
  await expect.poll(() => said.errors, DEADLINE).toMatch(/waits for a person/);
  const { approvals } = Listed.parse(await (await fetch(`${service.url}/approvals`, { headers })).json());
  expect(ledger).toEqual([]);
  const [{ id = '', digest = '' } = {}] = approvals;
  const answer = await fetch(`${service.url}/approvals/${id}`, {
    ...{ method: 'POST', headers: { ...headers, 'if-match': `"${digest}"` } },
    body: JSON.stringify(decision),
  });
  expect(answer.status).toBe(200);
  const [code] = await ended;
  return { code, ledger, id, ...said, requests: endpoint.requests().length, rejections: endpoint.rejections() };
};

test.each(EXAMPLES)('%s: a refund that is approved is made once, and the model reads its result', async (file) => {
  const played = await play(file, { decision: 'approve' });
  expect(played).toMatchObject({ code: 0, output: '{"refunded":90}\n', requests: 2, rejections: [] });
  expect(played.ledger).toEqual([{ order: '7', amount: 90 }]);
  const { id, errors } = played;
  expect(errors).toMatch(
    new RegExp(`^'refund' waits for a person: Refund 90 for order 7\\. Decide ${id} until 2\\S+Z\\.\n$`),
  );
});

test.each(EXAMPLES)('%s: a refund that is denied is not made, and the model reads why', async (file) => {
  const { code, output, ledger, rejections } = await play(file, { decision: 'deny', reason: 'Too much' });
  expect({ code, ledger, rejections }).toEqual({ code: 0, ledger: [], rejections: [] });
  expect(output).toMatch(
    /^ERROR: approval_denied: Not executed: a person has denied this call to 'refund': Too much\. /,
  );
});

test.each(EXAMPLES)('%s: a refund that is edited is made as it was approved, and the model is told', async (file) => {
  const edited = { order: '7', amount: 40 };
  const { code, output, ledger, rejections } = await play(file, { decision: 'edit', arguments: edited });
  expect({ code, ledger, rejections }).toEqual({ code: 0, ledger: [edited], rejections: [] });
  expect(output).toBe(
    'A person has changed the arguments of this call before approving it: {"order":"7","amount":40}\n{"refunded":40}\n',
  );
});
