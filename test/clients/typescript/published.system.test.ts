import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const PACKAGE = join(ROOT, 'clients/typescript');
const COMPILER = join(PACKAGE, 'node_modules/typescript/bin/tsc');
const PATIENCE = { timeout: timeLimit(120_000) };

let directory: string;

const Ended = z.looseObject({ stdout: z.string(), stderr: z.string() });

/** Runs a command where the package is installed; its stdout. Rejects with what it wrote where it fails. */
const run = async (
  command: string,
  words: readonly string[],
  cwd = directory,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const npm = { npm_config_cache: join(directory, 'npm-cache'), npm_config_audit: 'false', npm_config_fund: 'false' };
  const ending = promisify(execFile)(command, words, { cwd, env: cleanEnvironment({ ...npm, ...settings }) });
  const ended = await ending.catch((error: unknown) => {
    const { stdout, stderr } = Ended.parse(error);
    throw new Error(`${command} ${words.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  });
  return ended.stdout;
};

// Packed as `npm publish` would, from a copy: nothing is built in the tree. Installed from the file, without a network.
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'recourse-client-'));
  const copy = join(directory, 'copy/clients/typescript');
  mkdirSync(copy, { recursive: true });
  cpSync(join(ROOT, 'tsconfig.json'), join(directory, 'copy/tsconfig.json'));
  for (const name of ['src', 'package.json', 'tsconfig.json', 'README.md', 'LICENSE'])
    cpSync(join(PACKAGE, name), join(copy, name), { recursive: true });
  mkdirSync(join(copy, 'node_modules/.bin'), { recursive: true });
  // The frameworks whose tools it makes, as in the repository.
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'copy/node_modules'));
  writeFileSync(join(copy, 'node_modules/.bin/tsc'), `#!/bin/sh\nexec node ${JSON.stringify(COMPILER)} "$@"\n`, {
    mode: 0o755,
  });
  writeFileSync(join(directory, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', ['pack', '--pack-destination', directory], copy);
  const [tarball = 'none'] = globSync('*.tgz', { cwd: directory });
  await run('npm', ['install', '--offline', `./${tarball}`]);
}, timeLimit(120_000));

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const installed = (...parts: readonly string[]): string => join(directory, 'node_modules/@recourse/client', ...parts);

const Manifest = z.object({
  version: z.string(),
  dependencies: z.undefined().optional(),
  sideEffects: z.literal(false),
  exports: z.record(z.string(), z.union([z.string(), z.record(z.string(), z.string())])),
});

/** Which package of a framework each entry needs, and nothing else does. */
const FRAMEWORKS: ReadonlyMap<string, string> = new Map([
  ['./ai-sdk', 'ai'],
  ['./openai-agents', '@openai/agents'],
  ['./langchain', '@langchain/core'],
]);

test('the package holds what it promises, and no more', () => {
  expect(readdirSync(installed()).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
  // Where it is installed nothing of the repository is beside it.
  expect(readFileSync(installed('README.md'), 'utf8').match(/\]\((?!#|https:)[^)]*\)/g)).toBe(null);
  const manifest = Manifest.parse(JSON.parse(readFileSync(installed('package.json'), 'utf8')));
  expect(Object.keys(manifest.exports)).toEqual(['.', ...FRAMEWORKS.keys(), './package.json']);
  for (const parts of Object.values(manifest.exports)) {
    if (typeof parts === 'string') continue;
    // Its sources are for programs of the repository alone.
    expect(Object.keys(parts)).toEqual(['@recourse/source', 'types', 'default']);
    for (const file of [parts['types'], parts['default']]) expect(existsSync(installed(file ?? '')), file).toBe(true);
  }
  expect(readdirSync(join(directory, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@recourse']);
});

test('it imports nothing but itself, its tools for a framework that framework, and it knows no platform', () => {
  const files = globSync('dist/**/*.js', { cwd: installed() });
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) {
    const text = readFileSync(installed(file), 'utf8');
    const imports = [...text.matchAll(/(?:from|import)\s*\(?["']([^"']+)["']/g)].map(([, name]) => name ?? '');
    const framework = FRAMEWORKS.get(file.replace(/^dist(.*)\.js$/, '.$1'));
    const foreign = imports.filter((name) => !/^\.\/[\w/-]+\.js$/.test(name));
    expect(
      foreign.filter((name) => framework === undefined || !`${name}/`.startsWith(`${framework}/`)),
      file,
    ).toEqual([]);
    expect(text.match(/\b(process|Buffer|require|__dirname|window|Deno|Bun)\b\s*[.([]/g), file).toBe(null);
  }
});

const PROGRAM = `
import { createRecourse, isRetryable } from '@recourse/client';
const recourse = createRecourse({ url: process.argv[2] });
const answer = await recourse.execute([{ name: 'echo', arguments: { text: 'Hello.' } }, { name: 'no such tool' }]);
console.log(JSON.stringify(answer.results.map((result) => [result.outcome, result.value, isRetryable(result)])));
`;

test('a program that has installed it runs against a service', PATIENCE, async () => {
  const service = await startService();
  onTestFinished(service.stop);
  writeFileSync(join(directory, 'program.js'), PROGRAM);
  expect(JSON.parse(await run('node', ['program.js', service.url]))).toEqual([
    ['success', { text: 'Hello.' }, false],
    ['retry', null, true],
  ]);
});

/** The programs of the README, by what is in them. */
const readmeProgram = (word: string): string => {
  const text = readFileSync(installed('README.md'), 'utf8');
  const programs = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, program]) => program ?? '');
  const [found = '', ...others] = programs.filter((program) => program.includes(word));
  expect([found === '', others.length], `programs with ${word}`).toEqual([false, 0]);
  return found;
};

const SCRIPTED_MODEL = `
import { runAgent } from './readme-loop.ts';
const call = (id, path) => ({ id, type: 'function', function: { name: 'read_file', arguments: JSON.stringify({ path }) } });
const turns = [
  { role: 'assistant', content: null, tool_calls: [call('a', 'note.md'), call('b', 'notes.md')] },
  { role: 'assistant', content: 'Done.', tool_calls: [] },
];
let heard = [];
const said = await runAgent(async (messages) => ((heard = messages), turns.shift()), 'What is in the notes?');
console.log(JSON.stringify([said, heard.map(({ role, tool_call_id }) => tool_call_id ?? role)]));
`;

test('the loop of the README runs as it stands', PATIENCE, async () => {
  const service = await startService();
  onTestFinished(service.stop);
  writeFileSync(join(directory, 'readme-loop.ts'), readmeProgram('runAgent'));
  writeFileSync(join(directory, 'model.js'), SCRIPTED_MODEL);
  const said = await run('node', ['model.js'], directory, { RECOURSE_URL: service.url });
  expect(JSON.parse(said)).toEqual(['Done.', ['user', 'assistant', 'a', 'b']]);
});

const TYPED_PROGRAM = `
import { createRecourse, type FailureCode, isRetryable, type MessageOf, RecourseError, type ToolResult } from '@recourse/client';

const recourse = createRecourse({ url: 'http://127.0.0.1:8080', apiKey: 'k' });

export const natively = async (): Promise<readonly ToolResult[]> => {
  const { results } = await recourse.execute([{ id: 1, name: 'echo', arguments: { text: 'x' } }], { sessionId: 's' });
  const code: FailureCode | undefined = results[0]?.error?.code;
  // @ts-expect-error: codes are a closed list.
  const wrong: 'no_such_code' | undefined = code;
  // @ts-expect-error: outcomes are, too.
  if (results[0]?.outcome === 'perhaps') return [];
  return results.filter(isRetryable);
};

export const inChat = async (message: unknown): Promise<string[]> => {
  const { messages } = await recourse.execute(message, { format: 'openai-chat' });
  const first: MessageOf['openai-chat'] | undefined = messages[0];
  // @ts-expect-error: that is Anthropic's.
  first?.tool_use_id;
  return messages.map(({ tool_call_id }) => tool_call_id);
};

export const asText = async (): Promise<string[]> => (await recourse.execute([], { format: 'text' })).messages;

export const raw = async (message: unknown): Promise<unknown> =>
  (await recourse.execute(message, { format: 'vapi', raw: true })).body;

export const catalogue = async (): Promise<number | undefined> => (await recourse.tools())[0]?.limits.timeout_ms;

export const failing = (error: unknown): number | null => (error instanceof RecourseError ? error.retryAfterMs : null);

// @ts-expect-error: a call has a name.
recourse.execute([{ id: 'a' }]);
// @ts-expect-error: there is no such format.
recourse.execute({}, { format: 'smoke signals' });
`;

test.each([
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
])('its types hold for a program in %s with resolution by %s', PATIENCE, async (module, moduleResolution) => {
  writeFileSync(join(directory, 'typed-program.ts'), TYPED_PROGRAM);
  // Node's own types are not there: a program in a browser has none either.
  const node = 'declare const process: { env: Record<string, string | undefined> };\n';
  for (const [name, word] of [
    ['first', 'results[0]?.success'],
    ['loop', 'runAgent'],
  ] as const)
    writeFileSync(join(directory, `readme-${name}.ts`), `${node}${readmeProgram(word)}export {};\n`);
  const words = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--lib', 'es2022,dom'];
  await run('node', [
    COMPILER,
    ...words,
    ...[
      '--module',
      module,
      '--moduleResolution',
      moduleResolution,
      'typed-program.ts',
      'readme-first.ts',
      'readme-loop.ts',
    ],
  ]);
});

const TYPED_TOOLS = `
import { Agent } from '@openai/agents';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { createRecourse } from '@recourse/client';
import { toAiSdkTools } from '@recourse/client/ai-sdk';
import { toLangChainTools } from '@recourse/client/langchain';
import { toOpenAiAgentsTools } from '@recourse/client/openai-agents';
import { generateText, type ToolSet } from 'ai';

const recourse = createRecourse({ url: 'http://127.0.0.1:8080' });
const session = recourse.session('s');

export const tools: ToolSet = await toAiSdkTools(recourse, session);
export const agent = new Agent({ name: 'a', tools: await toOpenAiAgentsTools(recourse, session) });
export const node = new ToolNode(await toLangChainTools(recourse, session));

// @ts-expect-error: a list is no set of tools.
generateText({ model: 'm', prompt: 'p', tools: await toLangChainTools(recourse, session) });
// @ts-expect-error: a set is no list of tools.
new Agent({ name: 'a', tools });
// @ts-expect-error: it takes a session and not its id.
await toAiSdkTools(recourse, 's');

const message: unknown = null;
const answer = await session.answerMessage(message, { format: 'anthropic', turn: 1 });
export const first: { tool_use_id: string } | undefined = answer.messages[0]?.content[0];
export const { text, isError }: { text: string; isError: boolean } = await session.answerCall({ name: 'echo' });
// @ts-expect-error: without a turn there is no key.
await session.answerMessage(message, { format: 'anthropic' });
`;

test.each([
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
])('its tools fit the frameworks in %s with resolution by %s', PATIENCE, async (module, moduleResolution) => {
  for (const name of ['ai', '@openai', '@langchain']) {
    const link = join(directory, 'node_modules', name);
    if (!existsSync(link)) symlinkSync(join(ROOT, 'node_modules', name), link);
  }
  writeFileSync(join(directory, 'typed-tools.ts'), TYPED_TOOLS);
  writeFileSync(join(directory, 'readme-tools.ts'), readmeProgram('toAiSdkTools'));
  // The declarations of the frameworks name platforms and packages that are not there.
  const words = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', '--target', 'es2022'];
  const files = ['typed-tools.ts', 'readme-tools.ts'];
  await run('node', [COMPILER, ...words, '--module', module, '--moduleResolution', moduleResolution, ...files]);
});
