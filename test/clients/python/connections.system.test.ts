import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { answering, createCertificate, startHttpsTarget, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { expect, onTestFinished, test } from 'vitest';

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
if hasattr(refused, "add_note"): refused.add_note("Of Python 3.11 and later.")
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

const BROKEN = `
import json, re, socket, sys
from concurrent.futures import ThreadPoolExecutor
from recourse_client import Recourse
body = sys.argv[1].encode()
head = b"HTTP/1.1 200 OK\\r\\nconnection: close\\r\\n"
whole = head + b"content-length: %d\\r\\n\\r\\n" % len(body) + body
in_parts = head + b"transfer-encoding: chunked\\r\\n\\r\\n%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(body), body)
# In the first line, behind it, between headers, in the name of one, in the body.
broken = [text[:end] for text in (whole, in_parts) for end in (4, 12, 17, len(head), len(head) + 6, -len(body) // 2, -8)]
broken.append(head + b"transfer-encoding: chunked\\r\\n\\r\\n-5\\r\\n{}")
asked = [0] * len(broken)
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
def serve():
    connection, _ = listener.accept()
    request = b""
    while not request.endswith(b"}"):
        request += connection.recv(65536)
    key = int(re.search(rb"idempotency-key: (.+)\\r", request, re.I)[1])
    asked[key] += 1
    connection.sendall(broken[key] if asked[key] == 1 else whole)
    connection.close()
recourse = Recourse("http://127.0.0.1:%d" % listener.getsockname()[1])
def execute(key):
    try:
        return recourse.execute([{"name": "echo"}], idempotency_key=str(key), timeout=5).attempts
    except Exception as error:
        return f"{broken[key]}: {error}"
with ThreadPoolExecutor(32) as threads:
    served = [threads.submit(serve) for _ in range(2 * len(broken))]
    with ThreadPoolExecutor(32) as callers:
        attempts = list(callers.map(execute, range(len(broken))))
    listener.shutdown(socket.SHUT_RDWR)
print(json.dumps([attempts, asked]))
`;

test('an answer that breaks off anywhere, in its head or in its body, is asked for again under the same key', async () => {
  const twice = Array.from({ length: 15 }, () => 2);
  expect(await run(BROKEN, ANSWER)).toEqual([twice, twice]);
});

const UNREACHABLE = `
import json, socket, sys, time
from urllib.parse import urlsplit
from recourse_client import Recourse
port = urlsplit(sys.argv[1]).port
look_up = socket.getaddrinfo
# The queue of this one is full: it does not answer whoever connects.
silent = socket.create_server(("127.0.0.1", 0), backlog=0)
filling = [socket.socket() for _ in range(2)]
for one in filling:
    one.setblocking(False)
    one.connect_ex(silent.getsockname())
def with_others(host, *more, **named):
    # Of a family that no system has, and a silent one, before the one that answers.
    first = [(250, socket.SOCK_STREAM, 6, "", ("::1", port)), (socket.AF_INET, socket.SOCK_STREAM, 6, "", silent.getsockname())]
    return first + look_up(host, *more, **named)
socket.getaddrinfo = with_others
recourse = Recourse(sys.argv[1], connect_timeout=0.4)
print(json.dumps(recourse.execute([{"name": "echo"}], timeout=5).attempts))
`;

test('an address that this machine cannot speak to, or that is silent, does not hide the next one of the name', async () => {
  const target = await startHttpTarget(answering(200, {}, ANSWER));
  expect(await run(UNREACHABLE, target.origin)).toBe(1);
});
