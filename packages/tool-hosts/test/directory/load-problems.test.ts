import { openLab } from '@recourse/test-support/isolation-lab.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { checkDirectory } from '#src/directory/check-directory.ts';
import type { LoadProblem } from '#src/directory/load-problem.ts';

const toTool = (members: string, name = 'look_up'): string =>
  `import { defineTool, z } from 'recourse-server';\n\nexport const tool = defineTool({\n  name: '${name}',\n  description: '',\n  effects: 'read',\n${members}});\n`;
const FINE = '  input: z.object({}),\n  run: () => 1,\n';

const check = async (files: Readonly<Record<string, string>>) => {
  const { root, write } = makeDirectory();
  for (const [name, text] of Object.entries(files)) write(name, text);
  const environment = { ...process.env, ROOMS_URL: 'http://rooms.example' };
  const { isolation } = openLab({ environment, allowedVariables: ['ROOMS_URL'] });
  return checkDirectory(root, {
    hosts: isolation.hosts,
    taken: [],
    inline: { allowed: new Set(), load: async () => [] },
    isAllowed: (name) => name === 'ROOMS_URL',
  });
};

const toLine = ({ file, line, column, tool, member, message }: LoadProblem): string =>
  `${file}:${line}:${column} [${tool} ${member}] ${message}`;

// File → its text, and what is said of it.
const MISTAKES: Readonly<Record<string, readonly [text: string, said: string]>> = {
  'shape.ts': [
    toTool('  input: { city: z.string(), days: z.int() },\n  run: () => 1,\n'),
    "shape.ts:7:3 [look_up input] Tool 'look_up': input is a plain object of zod schemas. Write `input: z.object({ city: …, days: … })`.",
  ],
  'no-object.ts': [
    toTool('  input: z.string(),\n  run: (city) => city,\n'),
    "no-object.ts:7:3 [look_up input] Tool 'look_up': input must describe an object, because arguments have names, not a value of type string. Write `input: z.object({ value: … })`.",
  ],
  'handler.ts': [
    toTool('  input: z.object({ run: z.string() }), // handler: no\n  async handler() {},\n  timeoutMS: 5,\n'),
    "handler.ts:8:9 [look_up handler] Tool 'look_up': 'handler' is unknown to defineTool. Did you mean 'run'?",
  ],
  'parameters.ts': [
    toTool('  parameters: z.object({}),\n  run: () => 1,\n'),
    "parameters.ts:7:3 [look_up parameters] Tool 'look_up': 'parameters' is unknown to defineTool. Did you mean 'input'?",
  ],
  'no-input.ts': [
    toTool('  run: () => 1,\n'),
    "no-input.ts:3:21 [look_up input] Tool 'look_up': input is missing. For a tool without arguments write `input: z.object({})`.",
  ],
  'effects.ts': [
    toTool(FINE).replace("'read'", "'none'"),
    "effects.ts:6:3 [look_up effects] Tool 'look_up': effects must be 'read', 'idempotent' or 'write', not 'none'.",
  ],
  'name.ts': [
    toTool(FINE, 'look up'),
    "name.ts:4:3 [look up name] Tool 'look up': name must be 1 to 64 of A-Z a-z 0-9 _ . - (_unknown and _other are reserved), not 'look up'.",
  ],
  'output.ts': [
    toTool(`${FINE}  output: null,\n`),
    "output.ts:9:3 [look_up output] Tool 'look_up': output must be a zod schema such as `z.object({ … })`, or a JSON Schema.",
  ],
  'number.ts': [
    toTool(`${FINE}  timeoutMs: 0.5,\n`),
    "number.ts:9:3 [look_up timeoutMs] Tool 'look_up': timeoutMs must be a whole number from 1 to 2147483647, not 0.5.",
  ],
  'run.ts': [
    toTool("  input: z.object({}),\n  run: 'later',\n"),
    "run.ts:8:3 [look_up run] Tool 'look_up': run must be a function, not 'later'.",
  ],
  'three.ts': [
    "import { defineTool } from 'recourse-server';\nexport const tool = defineTool('look_up', {}, () => 1);\n",
    'three.ts:2:21 [null name] Tool: defineTool takes one object: `defineTool({ name, … })`.',
  ],
  'unexported.ts': [
    toTool(FINE, 'unexported').replace('export const', 'const'),
    "unexported.ts:3:14 [unexported null] The tool 'unexported' is declared but not exported, so it is not available. Write `export const … = defineTool({ … })`, or export a list of them.",
  ],
  'plain.ts': [
    "\nexport default { name: 'plain', description: '', input: {}, execute: () => 1 };\n",
    "plain.ts:2:1 [plain null] The export 'default' looks like a tool but is not one. Write `defineTool({ … })` around it.",
  ],
  'syntax.ts': [
    'export const a = {\n  b: 1\n  c: 2,\n};\n',
    "syntax.ts:3:3 [null null] Syntax error: Expected ',', got 'ident'.",
  ],
  'syntax.js': [
    'export const a = {\n  b: 1\n  c: 2,\n};\n',
    "syntax.js:3:3 [null null] Syntax error: Unexpected identifier 'c'.",
  ],
  'throws.ts': [
    'const url: string = "";\nexport const rooms = new URL(url);\n',
    'throws.ts:2:22 [null null] TypeError: Invalid URL',
  ],
  'extension.ts': [
    "import { unit } from './lib/units';\nexport { unit };\n",
    "extension.ts:1:22 [null null] It imports './lib/units', which is not a file. Write './lib/units.ts': imports must have the file extension.",
  ],
  'lib/built.ts': [
    "import { unit } from './units.js';\nexport { unit };\n",
    "lib/built.ts:1:22 [null null] It imports './units.js', which is not a file. Write './units.ts': imports must have the file extension.",
  ],
  'package.ts': [
    "import got from '@none/got/x';\nexport { got };\n",
    "package.ts:1:17 [null null] It imports the package '@none/got', which is not installed. Run `npm install @none/got` in TOOLS_DIR.",
  ],
  'enum.ts': [
    'export enum Color {\n  Red,\n}\n',
    'enum.ts:1:1 [null null] TypeScript enum cannot be used: Node strips types and compiles nothing. Write it in JavaScript with types.',
  ],
  'namespace.ts': [
    'export namespace Colors {\n  export const red = 1;\n}\n',
    'namespace.ts:1:1 [null null] TypeScript namespace declaration cannot be used: Node strips types and compiles nothing. Write it in JavaScript with types.',
  ],
  'property.ts': [
    'export class Rooms {\n  constructor(private readonly url: string) {}\n}\n',
    'property.ts:2:32 [null null] TypeScript parameter property cannot be used: Node strips types and compiles nothing. Write it in JavaScript with types.',
  ],
  'unnamed-test.ts': [
    "import { createTester } from 'recourse/testing';\nexport { createTester };\n",
    "unnamed-test.ts:1:30 [null null] It imports 'recourse/testing', which is for tests. Name a test file *.test.ts.",
  ],
  'waits.ts': [
    'export const a = await new Promise(() => setInterval(() => 1, 1000));\n',
    'waits.ts:null:null [null null] It did not finish loading within 2 s. Loading a file must not wait or compute for long: move that work into run.',
  ],
  'variables.ts': [
    toTool(`  env: ['OTHER_SECRET'],\n${FINE}`, 'variables'),
    "variables.ts:7:3 [variables env] Tool 'variables' requests OTHER_SECRET, which TOOLS_ENV_ALLOW does not allow.",
  ],
};

test('each mistake of an author is told with its place, and with what to write instead', {
  timeout: timeLimit(60_000),
}, async () => {
  const texts = Object.entries(MISTAKES).map(([name, [text]]) => [name, text] as const);
  const { tools, problems } = await check({
    ...Object.fromEntries(texts),
    'lib/units.ts': "export const unit = 'm';\n",
    'twin-a.ts': toTool(FINE, 'twin'),
    'twin-b.ts': `\n${toTool(FINE, 'twin')}`,
    'twice.ts': `${toTool(FINE, 'twice')}${toTool(FINE, 'twice')
      .replace(/^.*\n\n/, '')
      .replace('tool =', 'again =')}`,
  });
  const twins =
    "Several files provide a tool called 'twin': twin-a.ts:3:21, twin-b.ts:4:21. None is available: rename all but one, or export it once.";
  const twice =
    "twice.ts provides several tools called 'twice': twice.ts:3:21, twice.ts:10:22. None is available: rename all but one, or export it once.";
  expect(problems.map(toLine).sort()).toEqual(
    [
      ...Object.values(MISTAKES).map(([, said]) => said),
      `twin-a.ts:3:21 [twin null] ${twins}`,
      `twin-b.ts:4:21 [twin null] ${twins}`,
      `twice.ts:3:21 [twice null] ${twice}`,
      `twice.ts:10:22 [twice null] ${twice}`,
    ].sort(),
  );
  expect(tools).toEqual(['variables']);
  const find = (file: string) => problems.find((problem) => problem.file === file);
  expect(find('number.ts')?.excerpt).toBe('timeoutMs: 0.5,\n^');
  expect(find('property.ts')?.excerpt).toBe(`constructor(private readonly url: string) {}\n${' '.repeat(29)}^`);
  expect(
    problems
      .filter(({ level }) => level === 'warning')
      .map(({ file }) => file)
      .sort(),
  ).toEqual(['variables.ts']);
});

test('a variable that a file asks for by name, itself or by a file it imports, is there when it is loaded', async () => {
  const rule = "if (process.env['ROOMS_URL'] === undefined) throw new Error('ROOMS_URL is not set');\n";
  const { tools, problems } = await check({
    'asks.ts': `${rule}${toTool(`  env: ['ROOMS_URL'],\n${FINE}`, 'asks')}`,
    'names.ts': `export const env = ['ROOMS_URL'];\n`,
    'by-import.ts': `import { env } from './names.ts';\n${rule}${toTool(`  env,\n${FINE}`, 'by_import')}`,
    // It reads what it does not ask for: its calls would not find it either.
    'takes.ts': `${rule}${toTool(FINE, 'takes')}`,
  });
  expect(tools).toEqual(['asks', 'by_import']);
  expect(problems.map(toLine)).toEqual(['takes.ts:1:51 [null null] Error: ROOMS_URL is not set']);
});
