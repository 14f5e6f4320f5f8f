import { execFile } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

const PACKAGE = join(ROOT, 'clients/python');
// Where scripts/ensure-python.sh puts it, unless this python3 has one.
const HATCHLING = join(ROOT, 'node_modules/.cache/recourse/hatchling');

let directory: string;
let service: RunningService;

const Ended = z.looseObject({ stdout: z.string(), stderr: z.string() });

/** stdout of a program in the test's directory; rejects with what it wrote where it fails. */
const run = async (command: string, words: readonly string[], settings: Readonly<Record<string, string>> = {}) => {
  const env = cleanEnvironment({ PYTHONPATH: join(directory, 'site'), PYTHONDONTWRITEBYTECODE: '1', ...settings });
  const ending = promisify(execFile)(command, words, { cwd: directory, env });
  const ended = await ending.catch((error: unknown) => {
    const { stdout, stderr } = Ended.parse(error);
    throw new Error(`${command} ${words.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  });
  return ended.stdout;
};

// Built as `pip wheel` builds it, and installed as pip does with a wheel of this kind: by unpacking it.
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'recourse-client-'));
  const build = `import os, sys; os.chdir(${JSON.stringify(PACKAGE)}); from hatchling.build import build_wheel; build_wheel(sys.argv[1])`;
  await run('python3', ['-c', build, directory], { PYTHONPATH: HATCHLING });
  mkdirSync(join(directory, 'site'));
  const [wheel = 'none'] = globSync('*.whl', { cwd: directory });
  await run('python3', ['-m', 'zipfile', '-e', wheel, 'site']);
  service = await startService({ WORKSPACE_DIR: join(ROOT, 'examples/workspace') });
}, timeLimit(60_000));

afterAll(async () => {
  await service.stop();
  rmSync(directory, { recursive: true, force: true });
});

const site = (...parts: readonly string[]): string => join(directory, 'site', ...parts);

test('the wheel holds the package, its types and its licence, and needs nothing', () => {
  expect(globSync('*.whl', { cwd: directory })).toEqual(['recourse_client-0.2.0-py3-none-any.whl']);
  const [information = ''] = globSync('*.dist-info', { cwd: site() });
  expect(readdirSync(site()).sort()).toEqual(['recourse_client', information]);
  expect(existsSync(site('recourse_client/py.typed'))).toBe(true);
  expect(globSync('**/LICENSE*', { cwd: site(information) }).length).toBe(1);
  const metadata = readFileSync(site(information, 'METADATA'), 'utf8');
  expect(metadata).toContain('\nRequires-Python: >=3.10\n');
  expect(metadata).not.toContain('Requires-Dist');
  // Where it is installed nothing of the repository is beside it.
  expect(metadata.match(/\]\((?!#|https:)[^)]*\)/g)).toBe(null);
});

test('it imports nothing but the standard library', async () => {
  const program = `import sys; sys.path.insert(0, ${JSON.stringify(site())}); import recourse_client; print(
    sorted({n.partition(".")[0] for n in sys.modules} - set(sys.stdlib_module_names) - {"__main__", "recourse_client"}))`;
  // Without the packages that this python3 has.
  expect(await run('python3', ['-I', '-S', '-c', program])).toBe('[]\n');
});

/** The one program of the README that has this word in it. */
const readmeProgram = (word: string): string => {
  const text = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
  const programs = [...text.matchAll(/```python\n([\s\S]*?)```/g)].map(([, program]) => program ?? '');
  const [found = '', ...others] = programs.filter((program) => program.includes(word));
  expect([found === '', others.length], `programs with ${word}`).toEqual([false, 0]);
  return found;
};

test('the first call and the program with asyncio of the README run as they stand', async () => {
  const settings = { RECOURSE_URL: service.url };
  expect(await run('python3', ['-c', readmeProgram('read_file')], settings)).toContain(
    "True {'path': 'notes.md', 'content': '# ",
  );
  expect(await run('python3', ['-c', readmeProgram('asyncio')], settings)).toBe("{'text': 'Hello.'}\n");
});

const SCRIPTED_MODEL = `
import json
from readme_loop import run_agent
def call(id, path):
    return {"id": id, "type": "function", "function": {"name": "read_file", "arguments": json.dumps({"path": path})}}
turns = [
    {"role": "assistant", "content": None, "tool_calls": [call("a", "note.md"), call("b", "notes.md")]},
    {"role": "assistant", "content": "Done.", "tool_calls": []},
]
heard = []
def ask(messages, tools):
    heard[:] = messages
    return turns.pop(0)
said = run_agent(ask, "What is in the notes?")
print(json.dumps([said, [message.get("tool_call_id", message["role"]) for message in heard]]))
`;

test('the loop of the README runs as it stands', async () => {
  writeFileSync(join(directory, 'readme_loop.py'), readmeProgram('run_agent'));
  writeFileSync(join(directory, 'model.py'), SCRIPTED_MODEL);
  const said = await run('python3', ['model.py'], { RECOURSE_URL: service.url });
  expect(JSON.parse(said)).toEqual(['Done.', ['user', 'assistant', 'a', 'b']]);
});
