import { request } from 'node:http';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Problem } from '#src/contract/tool-result.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** fetch mends what is wrong with a path; node:http sends it as it is. */
const get = (path: string): Promise<{ readonly status: number; readonly body: string }> =>
  new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port: service.port, path }, (answer) => {
      answer.setEncoding('utf8');
      answer.toArray().then((chunks) => resolve({ status: answer.statusCode ?? 0, body: chunks.join('') }), reject);
    });
    asked.on('error', reject);
    asked.end();
  });

test.for([
  ['/%zz', 400, 'bad_request'],
  [`/tools/${'a'.repeat(1100)}`, 414, 'uri_too_long'],
  ['/tools/%ff', 400, 'bad_request'],
  ['/nothing/here', 404, 'not_found'],
  ['/docs/static/%00', 404, 'not_found'],
  ['/docs/static/..', 404, 'not_found'],
  ['/docs/static/../swagger.json', 404, 'not_found'],
  ['/docs/static/a%5cb', 404, 'not_found'],
  [`/docs/static/${'a'.repeat(300)}`, 404, 'not_found'],
] as const)('GET %s is answered with %i, and the service goes on', async ([path, status, code]) => {
  const answer = await get(path);
  expect(answer.status).toBe(status);
  expect(Problem.parse(JSON.parse(answer.body))).toMatchObject({ status, code });
  expect((await get('/live')).status).toBe(200);
});
