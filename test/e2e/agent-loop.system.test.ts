import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answering, findClosedPort, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { startLosingProxy } from '@recourse/test-support/losing-proxy.ts';
import { cleanEnvironment, ROOT, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createRecourse, type RecourseOptions } from '../../clients/typescript/src/client.ts';
import { type AgentRun, runAgent } from '../../examples/agent-loop/agent.ts';
import type { Model } from '../../examples/agent-loop/model.ts';
import { correctsItself, givesUpInTime, keepsGuessing } from '../../examples/agent-loop/scripted-models.ts';
import type { ToolCall, ToolResult } from '../../examples/agent-loop/tool-result.ts';
import { createNoteTool } from '../clients/typescript/lossy-lab.ts';

const makeWorkspace = (): string => {
  const root = mkdtempSync(join(tmpdir(), 'recourse-agent-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, 'notes.md'), '# Team notes\n\nThe printer is fixed.\n');
  return root;
};

const startRecourse = async (settings: Readonly<Record<string, string>> = {}): Promise<string> =>
  (await startProcess({ by: 'node', environment: { WORKSPACE_DIR: makeWorkspace(), ...settings } })).url;

type Played = AgentRun & {
  readonly asked: readonly ToolCall[];
  readonly results: readonly ToolResult[];
  readonly path: readonly string[];
};

const play = async (
  url: string,
  model: Model,
  maxSteps = 8,
  limits: Partial<RecourseOptions> = {},
): Promise<Played> => {
  const session = createRecourse({ url, ...limits }).session(`test-${Math.random()}`);
  const asked: ToolCall[] = [];
  const results: ToolResult[] = [];
  const path: string[] = ['planning'];
  const run = await runAgent('Do it.', {
    model,
    maxSteps,
    executeCalls: async (calls) => (await session.execute(calls)).results,
    observer: {
      planned: (_thought, calls) => void asked.push(...calls),
      received: (result) => void results.push(result),
      moved: (_from, _event, to) => void path.push(to),
    },
  });
  return { ...run, asked, results, path };
};

test('an agent reads what a failure says, corrects itself and finishes', async () => {
  const run = await play(await startRecourse(), correctsItself);
  expect(run.asked.map((call) => call.arguments)).toEqual([{ path: 'note.md' }, { path: 'notes.md' }]);
  expect(run.results.map(({ outcome }) => outcome)).toEqual(['retry', 'success']);
  expect(run.results[0]?.message).toBe(
    "FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.",
  );
  expect(run.path).toEqual(['planning', 'acting', 'observing', 'planning', 'acting', 'observing', 'planning', 'done']);
  expect(run).toMatchObject({ state: 'done', cause: 'answer_given', steps: 3 });
  expect(run.text).toBe('The notes begin: # Team notes');
});

test('an agent that keeps failing stops when the result says that its budget is gone', async () => {
  const run = await play(await startRecourse(), keepsGuessing);
  expect(run.results.map(({ outcome }) => outcome)).toEqual(['retry', 'retry', 'retry', 'retry', 'refused']);
  expect(run.results.map(({ retry }) => retry?.remaining)).toEqual([3, 2, 1, 0, 0]);
  expect(run.results.map(({ retry }) => retry?.allowed)).toEqual([true, true, true, false, false]);
  expect(run.results.at(-1)?.error).toMatchObject({ code: 'retry_budget_exhausted', fatal: false });
  expect(run).toMatchObject({ state: 'failed', cause: 'budget_gone', steps: 5 });
  expect(run.text).toMatch(/^Tool 'read_file' failed 4 times in a row and is blocked for this session\./);
});

test('an agent told that no retries are left may still finish by saying so', async () => {
  const run = await play(await startRecourse(), givesUpInTime);
  expect(run.results.map(({ outcome }) => outcome)).toEqual(['retry', 'retry', 'retry', 'retry']);
  expect(run).toMatchObject({ state: 'done', cause: 'answer_given', text: 'I could not find the plan.', steps: 5 });
});

test('a fatal failure ends the run of the very model that would have corrected itself', async () => {
  const run = await play(await startRecourse({ GRACEFUL_TOOL_ERRORS: 'false' }), correctsItself);
  expect(run.results).toMatchObject([{ outcome: 'failed', error: { code: 'tool_exception', fatal: true } }]);
  expect(run).toMatchObject({ state: 'failed', cause: 'fatal_failure', steps: 1 });
  expect(run.path).toEqual(['planning', 'acting', 'observing', 'failed']);
});

test('the budget is one run’s own: the next run on the same service starts afresh', async () => {
  const url = await startRecourse();
  expect(await play(url, keepsGuessing)).toMatchObject({ cause: 'budget_gone' });
  expect(await play(url, correctsItself)).toMatchObject({ state: 'done', steps: 3 });
});

test('a run out of steps fails with the number of its steps, and what was said is still there', async () => {
  const run = await play(await startRecourse(), keepsGuessing, 2);
  expect(run).toMatchObject({ state: 'failed', cause: 'steps_exhausted', text: 'Max steps 2 exceeded', steps: 2 });
  expect(run.conversation.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
});

test('a failure beside a success of the same turn is read with it, and the run goes on', async () => {
  const readsTwo: Model = async (conversation) => {
    const heard = conversation.filter(({ role }) => role === 'tool').map(({ text }) => text);
    if (heard.length > 0) return { kind: 'answer', text: heard.join(' | ') };
    const calls = ['notes.md', 'nothing'].map((path, n) => ({ id: `${n}`, name: 'read_file', arguments: { path } }));
    return { kind: 'calls', thought: 'Both at once.', calls };
  };
  expect(await play(await startRecourse(), readsTwo)).toMatchObject({
    state: 'done',
    text: "# Team notes\n\nThe printer is fixed.\n | FileNotFoundError: there is no file 'nothing' in the workspace. Call list_files to see what is there.",
  });
});

test('a model that fails ends the run as a value', async () => {
  const broken: Model = () => Promise.reject(new Error('503 from the provider'));
  const run = await play('http://127.0.0.1:1', broken);
  expect(run).toMatchObject({
    state: 'failed',
    cause: 'model_failed',
    text: 'The model failed: 503 from the provider',
  });
});

test('a service that is gone, refuses the batch or answers nonsense ends the run as a value', async () => {
  const impatient = { connectTimeoutMs: 1, timeoutMs: 300 };
  const playAt = (url: string) => play(url, correctsItself, 8, impatient);
  const closed = await playAt(`http://127.0.0.1:${await findClosedPort()}`);
  expect(closed).toMatchObject({ state: 'failed', cause: 'service_failed', steps: 1 });
  const problem = JSON.stringify({ status: 503, code: 'draining', detail: 'The service is stopping.' });
  const refusing = await startHttpTarget(answering(503, { 'content-type': 'application/problem+json' }, problem));
  expect((await playAt(refusing.origin)).text).toBe(
    'The tools cannot be reached: POST /tool-calls (503): The service is stopping.',
  );
  for (const body of ['{"results":[]}', '{"results":[{"name":"read_file","success":"yes"}]}']) {
    const wrong = await startHttpTarget(answering(200, {}, body));
    expect((await playAt(wrong.origin)).text).toMatch(
      /^The tools cannot be reached: .*The answer is not from a Recourse service\./,
    );
  }
});

test('an agent that loses answers writes once, and ends with words', async () => {
  const notes = createNoteTool();
  notes.letGo();
  const { url } = await startProcess({ by: 'node', environment: notes.environment });
  const writes =
    (note: string): Model =>
    async (conversation) =>
      conversation.some(({ role }) => role === 'tool')
        ? { kind: 'answer', text: 'It is written.' }
        : { kind: 'calls', thought: 'I write.', calls: [{ id: 'a', name: 'write_note', arguments: { note } }] };
  for (const [lost, note, text] of [
    [1, 'one', 'It is written.'],
    [3, 'three', 'It is written.'],
    [Infinity, 'all', 'The tools cannot be reached: POST /tool-calls (no_answer): The service did not answer in time.'],
  ] as const) {
    const proxy = await startLosingProxy(url, lost);
    const run = await play(proxy.url, writes(note), 8, { timeoutMs: lost === Infinity ? 1_000 : 60_000 });
    expect({ text: run.text, runs: notes.runs(note) }).toEqual({ text, runs: 1 });
  }
});

test('the step cap ends every run before the safety cap does', async () => {
  const url = await startRecourse({ SESSION_RETRIES: '1000' });
  const readsForEver: Model = async () => ({
    kind: 'calls',
    thought: 'Again.',
    calls: [{ id: 'a', name: 'read_file', arguments: { path: 'notes.md' } }],
  });
  for (const maxSteps of [1, 2, 7])
    expect(await play(url, readsForEver, maxSteps)).toMatchObject({ cause: 'steps_exhausted', steps: maxSteps });
});

type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

const runExample = (url: string): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { cwd: ROOT, env: cleanEnvironment({}), timeout: timeLimit(20_000) };
    const child = execFile(
      'node',
      ['--conditions=@recourse/source', 'examples/agent-loop/run.ts', url],
      options,
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });

test('the example prints a trace that can be read, and ends with 0', async () => {
  const { code, stdout, stderr } = await runExample(await startRecourse());
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.slice(0, stdout.indexOf('\n\n'))).toBe(
    [
      'A model that corrects itself: "What do the notes begin with?"',
      '  planning   I read the notes.',
      '  acting     read_file {"path":"note.md"}',
      '  observing  retry (tool_exception), 3 of 3 retries left',
      "             \"FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.\"",
      "  planning   There is no such file. I take 'notes.md'.",
      '  acting     read_file {"path":"notes.md"}',
      '  observing  success',
      '  done       (planning, answer_given)',
      '→ done after 3 steps: The notes begin: # Team notes',
    ].join('\n'),
  );
  expect(stdout).toContain('  observing  refused (retry_budget_exhausted), 0 of 3 retries left\n');
  expect(stdout).toContain('→ done after 5 steps: I could not find the plan.\n');
});

test('the example works with the workspace that comes with the service', async () => {
  const { url } = await startProcess({ by: 'npm' });
  const { code, stdout } = await runExample(url);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^→ done after 3 steps: The notes begin: \S/m);
});

test('the example says what to do where no service runs, and ends with 1', async () => {
  const url = `http://127.0.0.1:${await findClosedPort()}`;
  expect(await runExample(url)).toMatchObject({
    code: 1,
    stderr: `Is Recourse running at ${url}? Start it with npm start.\n`,
  });
});
