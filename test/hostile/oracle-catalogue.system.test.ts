import { startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { TEST_MS } from './bounded-run.ts';
import { anyPair, ENVIRONMENT, findDifference, SECRETS } from './oracle-lab.ts';

const CATALOGUE_PAIRS = 60;

test(
  'what a tool says of itself that only begins like a secret stands in the catalogue as any other text',
  async () => {
    const sample = fc.sample(anyPair(SECRETS), { numRuns: CATALOGUE_PAIRS, seed: 7 });
    const toolOf = (name: string, side: 0 | 1): string => `{
      const texts = ${JSON.stringify(sample.map((pair) => pair[side]))};
      const properties = Object.fromEntries(texts.map((text, place) => ['p' + place,
        { type: 'string', description: text, default: text, enum: [text, 'b'], title: text }]));
      tools.push(defineTool({ name: '${name}', description: texts.join(' | '), effects: 'read',
        input: { type: 'object', properties, additionalProperties: true }, run: () => 1 }));
    }`;
    const both = `import { defineTool } from 'recourse-server'; export const tools = []; ${toolOf('described', 0)} ${toolOf('describes', 1)}`;
    const broken = (side: 0 | 1): string => `throw new Error(${JSON.stringify(sample[3]?.[side] ?? '')});`;
    const { root } = makeDirectory({ 'both.js': both, 'broken_0.js': broken(0), 'broken_1.js': broken(1) });
    const running = await startProcess({ by: 'node', environment: { ...ENVIRONMENT, TOOLS_DIR: root } });
    const { tools } = JSON.parse(await (await fetch(`${running.url}/tools`)).text());
    const named = (name: string) => tools.find((tool: { readonly name: string }) => tool.name === name);
    const [one, other] = [named('described'), named('describes')];
    for (const [place, pair] of sample.entries()) {
      const of = (tool: typeof one): string => JSON.stringify(tool.input_schema.properties[`p${place}`]);
      expect(findDifference(of(one), of(other), pair)).toBeNull();
    }
    expect(one.description).toHaveLength(other.description.length);
    expect(JSON.stringify(tools)).not.toContain('[redacted]');
    const reasons = tools.filter((tool: { readonly name: string }) => tool.name.startsWith('broken_'));
    expect(reasons).toHaveLength(2);
    const [first, second] = reasons.map((tool: { readonly unavailable_reason: string }) =>
      tool.unavailable_reason.replace(/^broken_\d/, 'broken'),
    );
    expect(findDifference(first, second, sample[3] ?? ['', ''])).toBeNull();
  },
  TEST_MS,
);
