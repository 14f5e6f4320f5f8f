import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { answering, createCertificate, startHttpsTarget, startHttpTarget } from '#test/support/http-target.ts';
import { cleanEnvironment, ROOT } from '#test/support/start-process.ts';

const RESULT = {
  ...{ index: 0, id: null, name: 'echo', success: true, outcome: 'success', executed: 'yes', value: 'x' },
  ...{ message: '', error: null, retry: null, duration_ms: 1 },
};
const ANSWER = JSON.stringify({ request_id: 'r', session_id: null, results: [RESULT] });

/** What a program with the client prints, as JSON. */
const run = async (program: string, ...words: readonly string[]): Promise<unknown> => {
  const environment = cleanEnvironment({ PYTHONPATH: join(ROOT, 'clients/python/src'), PYTHONDONTWRITEBYTECODE: '1' });
  const { stdout } = await promisify(execFile)('python3', ['-c', program, ...words], { env: environment });
  return JSON.parse(stdout);
};

const REUSING = `
import json, sys, threading, time
from recourse_client import Recourse
recourse = Recourse(sys.argv[1])
calls = [{"name": "echo"}]
def execute(pause=0):
    time.sleep(pause)
    return recourse.execute(calls).attempts
alone = [execute(), execute(), execute(pause=0.3)]
together = []
threads = [threading.Thread(target=lambda: together.append(execute())) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
recourse.close()
print(json.dumps([alone, together, execute()]))
`;

test('a connection serves one request after the other, and one that the server has closed costs no attempt', async () => {
  const target = await startHttpTarget((response, request, count) => {
    const { socket } = response;
    answering(200, {}, ANSWER)(response, request, count);
    if (count === 2) setTimeout(() => socket?.destroy(), 50);
  });
  expect(await run(REUSING, target.origin)).toEqual([[1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1], 1]);
  // One for two requests, one in place of the closed one, at most seven more for threads, one after close().
  expect(target.connections()).toBeGreaterThanOrEqual(3);
  expect(target.connections()).toBeLessThanOrEqual(10);
  expect(target.requests.length).toBe(12);
});

const SECURE = `
import json, ssl, sys
from recourse_client import Recourse, RecourseError
trusting = Recourse(sys.argv[1], ssl_context=ssl.create_default_context(cafile=sys.argv[2]))
attempts = [trusting.execute([{"name": "echo"}]).attempts for _ in range(3)]
try:
    Recourse(sys.argv[1]).execute([{"name": "echo"}])
except RecourseError as error:
    print(json.dumps([attempts, str(error), error.code, error.attempts, error.may_have_run, type(error.__cause__).__name__]))
`;

test('https is spoken with certificates that hold, and an error at once with others', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-client-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const certificate = createCertificate();
  const file = join(directory, 'certificate.pem');
  writeFileSync(file, certificate.cert);
  const target = await startHttpsTarget(answering(200, {}, ANSWER), certificate);
  expect(await run(SECURE, target.origin, file)).toEqual([
    [1, 1, 1],
    `POST /tool-calls (no_answer): ${target.origin} answers, but not with a TLS connection that can be trusted (CERTIFICATE_VERIFY_FAILED).`,
    ...['no_answer', 1, false, 'SSLCertVerificationError'],
  ]);
  expect(target.requests.length).toBe(3);
  expect(target.connections()).toBe(2);
});

const MODELS = `
import copy, json, pickle, sys
from recourse_client import Recourse, RecourseError
class Message:
    # As pydantic has it, of which the messages of OpenAI's, Anthropic's and Google's clients are models.
    def __init__(self, members): self.members = members
    def model_dump(self, *, mode, by_alias, exclude_none):
        assert (mode, by_alias, exclude_none) == ("json", True, True)
        return self.members
recourse = Recourse(sys.argv[1])
message = Message({"role": "assistant", "tool_calls": [Message({"id": "a"})]})
errors = []
for body in (message, {"text": float("nan")}, {"text": object()}):
    try:
        recourse.execute(body, format="openai-chat", timeout=1)
    except (RecourseError, ValueError, TypeError) as error:
        errors.append(error)
refused = errors[0]
again = [pickle.loads(pickle.dumps(refused)), copy.copy(refused)]
print(json.dumps([[type(error).__name__ for error in errors], [[str(one), vars(one) == vars(refused)] for one in again]]))
`;

test('models of pydantic are sent as their JSON, what has none is refused, and an error can be pickled', async () => {
  const problem = { type: 'about:blank', title: 'x', status: 400, code: 'bad', detail: 'No.', request_id: 'r' };
  const target = await startHttpTarget(answering(400, {}, JSON.stringify(problem)));
  const told = 'POST /tool-calls (400): No.';
  expect(await run(MODELS, target.origin)).toEqual([
    ['RecourseError', 'ValueError', 'TypeError'],
    [
      [told, true],
      [told, true],
    ],
  ]);
  expect(target.requests.map(({ headers }) => headers['content-length'])).toEqual(['46']);
});
