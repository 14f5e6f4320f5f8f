import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ToolCatalogue, type ToolDescription } from '#src/contract/tool-description.ts';

/** Of a tool that returns 'done'. `declared`: what stands in place of `tool(input)`. */
const toFile = (input: string, declared = 'tool(input)'): string => `
  import { defineTool, z } from 'recourse-server';
  const nest = (levels, wrap, innermost = { type: 'string' }) => {
    let value = innermost;
    for (let level = 0; level < levels; level += 1) value = wrap(value);
    return value;
  };
  const inObject = (a) => ({ type: 'object', properties: { a } });
  const inValue = (a) => ({ before: 1, a, after: 'a text that is long enough to be copied' });
  const input = ${input};
  const tool = (schema, more = {}) =>
    defineTool({ name: NAME, description: '', effects: 'read', input: schema, run: () => 'done', ...more });
  export const exported = ${declared};
`;

const TOO_DEEP = 'put is not a usable schema, because of RangeError: It is nested more than 500 levels deep';
const OPEN = "{ type: 'object', additionalProperties: true }";

/** What a file declares → a part of why it is unavailable. */
const REFUSED: Readonly<Record<string, readonly [text: string, reason: string]>> = {
  deep_objects: [toFile('inObject(nest(5_000, inObject))'), TOO_DEEP],
  deep_lists: [toFile("inObject(nest(5_000, (items) => ({ type: 'array', items })))"), TOO_DEEP],
  deep_default: [toFile('inObject({ default: nest(5_000, inValue, 1) })'), TOO_DEEP],
  deep_note: [toFile("inObject({ 'x-note': [nest(5_000, (inner) => [inner], 1)] })"), TOO_DEEP],
  deep_meta: [toFile('z.object({ a: z.any().meta({ note: nest(5_000, inValue, 1) }) })'), TOO_DEEP],
  deep_zod: [toFile('z.object({ a: nest(450, (a) => z.object({ a }), z.string()) })'), TOO_DEEP],
  deep_output: [toFile(OPEN, 'tool(input, { output: inObject({ default: nest(5_000, inValue, 1) }) })'), TOO_DEEP],
  deep_circle: [toFile('(() => { const one = inObject({}); one.properties.a = one; return one; })()'), TOO_DEEP],
  // What defineTool made and the file has changed.
  deep_later: [
    toFile(OPEN, '({ ...tool(input), inputSchema: inObject({ default: nest(5_000, inValue, 1) }) })'),
    "Tool 'deep_later': its schema is nested more than 500 levels deep.",
  ],
};

const SERVED: Readonly<Record<string, string>> = {
  circle_of_zod: toFile(
    '(() => { const Node = z.object({ get next() { return Node.optional(); } }); return Node; })()',
  ),
  long_texts: toFile("inObject({ type: 'string', description: 'x'.repeat(1_000_000) })"),
  many_members: toFile(
    "z.object(Object.fromEntries(Array.from({ length: 500 }, (_, place) => ['p' + place, z.string().optional()])))",
  ),
  rather_deep: toFile('inObject({ default: nest(450, inValue, 1) })'),
};

let service: RunningService;
const root = realpathSync(mkdtempSync(join(tmpdir(), 'recourse-hostile-')));

beforeAll(async () => {
  const files = [...Object.entries(REFUSED).map(([name, [text]]) => [name, text] as const), ...Object.entries(SERVED)];
  for (const [name, text] of files) writeFileSync(join(root, `${name}.mjs`), text.replace('NAME', `'${name}'`));
  service = await startService({ TOOLS_DIR: root, MAX_EVENT_LOOP_LAG_MS: '60000' });
}, timeLimit(60_000));

afterAll(async () => {
  await service.stop();
  rmSync(root, { recursive: true, force: true });
});

const readTool = async (name: string): Promise<ToolDescription | undefined> => {
  const { tools } = ToolCatalogue.parse(await (await fetch(`${service.url}/tools?names=${name}`)).json());
  return tools.find((tool) => tool.name === name);
};

test.each(Object.entries(REFUSED))('%s: the file is refused with the reason', async (name, [, reason]) => {
  expect(await readTool(name)).toMatchObject({ available: false, unavailable_reason: expect.stringContaining(reason) });
  const logged = service.logLines().find(({ file }) => file === `${name}.mjs`);
  expect(logged).toMatchObject({
    msg: 'tool file cannot be loaded',
    reason: expect.stringContaining(reason),
    serves: 'none',
  });
  const [result] = await service.call([{ name, arguments: {} }]);
  expect(result).toMatchObject({ success: false, executed: 'no', error: { code: 'tool_unavailable' } });
  expect(result?.message).toMatch(new RegExp(`^Not executed: tool '${name}' is not available now, `));
});

test.each(Object.keys(SERVED))('%s: it is served', async (name) => {
  expect(await readTool(name)).toMatchObject({ available: true });
  const [result] = await service.call([{ name, arguments: {} }]);
  expect(result).toMatchObject({ success: true, value: 'done' });
});

test.each(['native', 'openai-chat', 'openai-responses', 'anthropic', 'gemini', 'mcp'])(
  '%s: the whole catalogue is there, strict or not, with each tool that is served',
  async (format) => {
    for (const strict of [false, true]) {
      const answer = await fetch(`${service.url}/tools?format=${format}&strict=${strict}`);
      const body = await answer.text();
      expect(answer.status).toBe(200);
      for (const name of Object.keys(SERVED)) expect(body).toContain(`"name":"${name}"`);
    }
  },
);
