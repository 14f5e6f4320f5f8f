import { setDefaultCACertificates } from 'node:tls';
import {
  type Answerer,
  answering,
  createCertificate,
  failureOf,
  startHttpsTarget,
  startHttpTarget,
} from '@recourse/test-support/http-target.ts';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createFetchUrl, type FetchUrlOptions } from '#src/fetch-url.ts';

const createTool = (options: Partial<FetchUrlOptions> = {}) => {
  const { tool, close } = createFetchUrl({ privateAddresses: 'allow', ...options });
  onTestFinished(close);
  return tool;
};

const redirectTo = (location: string, status = 302): Answerer => answering(status, { location });

/** `/5` leads to `/4` and so on; `/0` is the page. */
const countdown: Answerer = (response, request, count) => {
  const left = Number(request.path.slice(1));
  (left === 0 ? answering(200, {}, 'arrived') : redirectTo(`/${left - 1}`))(response, request, count);
};

test.each([301, 302, 303, 307, 308])('HTTP %i is followed, and the value names the place it led to', async (status) => {
  const target = await startHttpTarget((response, request, count) =>
    (request.path === '/a' ? redirectTo('b?x=1', status) : answering(200, {}, 'there'))(response, request, count),
  );
  expect(await runTool(createTool(), { url: `${target.origin}/a` })).toMatchObject({
    url: `${target.origin}/b?x=1`,
    content: 'there',
    attempts: 1,
  });
});

test('five redirects are followed', async () => {
  const target = await startHttpTarget(countdown);
  expect(await runTool(createTool(), { url: `${target.origin}/5` })).toMatchObject({ content: 'arrived' });
});

test.each([6, 30])('%i redirects are refused after the fifth', async (hops) => {
  const target = await startHttpTarget(countdown);
  expect(await failureOf(runTool(createTool(), { url: `${target.origin}/${hops}` }))).toMatchObject({
    name: 'RetryableToolError',
    message: `URL '${target.origin}/${hops}' redirects more than 5 times. Try a different URL.`,
  });
  expect(target.requests).toHaveLength(6);
});

test('a loop of redirects is refused when it closes', async () => {
  const target = await startHttpTarget((response, request, count) =>
    redirectTo(request.path === '/a' ? '/b' : '/a#again')(response, request, count),
  );
  expect(await failureOf(runTool(createTool(), { url: `${target.origin}/a` }))).toMatchObject({
    name: 'RetryableToolError',
    message: `URL '${target.origin}/a' redirects in a loop. Try a different URL.`,
  });
  expect(target.requests).toHaveLength(2);
});

test.each([
  ['file:///etc/passwd', "to 'file:///etc/passwd': only http and https URLs can be fetched"],
  ['gopher://127.0.0.1:70/', "to 'gopher://127.0.0.1:70/': only http and https URLs can be fetched"],
  ['data:text/plain,x', "to 'data:text/plain,x': only http and https URLs can be fetched"],
  ['http://user:secret@127.0.0.1/', "to 'http://…@127.0.0.1/': a URL must not contain a user name or password"],
  ['http://[', "to 'http://[', which is not a URL"],
])('a redirect to %s is refused', async (location, what) => {
  const target = await startHttpTarget(redirectTo(location));
  expect(await failureOf(runTool(createTool(), { url: `${target.origin}/` }))).toMatchObject({
    name: 'RetryableToolError',
    message: `URL '${target.origin}/' redirects ${what}. Try a different URL.`,
  });
  expect(target.requests).toHaveLength(1);
});

test('a redirect that names no place is no content', async () => {
  const target = await startHttpTarget(answering(302));
  expect(await failureOf(runTool(createTool(), { url: `${target.origin}/` }))).toMatchObject({
    message: `HTTP 302: URL '${target.origin}/' did not answer with content. Try a different URL.`,
  });
});

// The limit lies below the time that is spent on the body of an error: waiting for this one would use it up.
test('a redirect whose body never ends is followed at once, and its connection closed', async () => {
  const target = await startHttpTarget((response, request, count) => {
    if (request.path === '/to') answering(200, {}, 'there')(response, request, count);
    else response.writeHead(302, { location: '/to' }).write('and on and on');
  });
  expect(await runTool(createTool({ limitMs: 900 }), { url: target.origin })).toMatchObject({ content: 'there' });
  await expect.poll(target.open).toBe(1);
});

test('cookies that a redirect sets are not sent on', async () => {
  const target = await startHttpTarget((response, request, count) =>
    (request.path === '/to' ? answering(200, {}, 'x') : answering(302, { location: '/to', 'set-cookie': 'id=1' }))(
      response,
      request,
      count,
    ),
  );
  await runTool(createTool(), { url: target.origin });
  expect(target.requests.map(({ headers }) => headers.cookie)).toEqual([undefined, undefined]);
});

test('a busy server behind a redirect is tried again without asking the first one again', async () => {
  const target = await startHttpTarget((response, request, count) => {
    if (request.path === '/') redirectTo('/to')(response, request, count);
    else answering(count < 3 ? 503 : 200, {}, 'there')(response, request, count);
  });
  expect(await runTool(createTool(), { url: target.origin })).toMatchObject({ content: 'there', attempts: 2 });
  expect(target.requests.map(({ path }) => path)).toEqual(['/', '/to', '/to']);
});

test('http may lead to https, https not back to http', async () => {
  const certificate = createCertificate();
  setDefaultCACertificates([certificate.cert]);
  const plain = await startHttpTarget((response, request, count) =>
    (request.path === '/up' ? redirectTo(`${secure.origin}/page`) : answering(200, {}, 'plain'))(
      response,
      request,
      count,
    ),
  );
  const secure = await startHttpsTarget(
    (response, request, count) =>
      (request.path === '/down' ? redirectTo(`${plain.origin}/page`) : answering(200, {}, 'secure'))(
        response,
        request,
        count,
      ),
    certificate,
  );
  expect(await runTool(createTool(), { url: `${plain.origin}/up` })).toMatchObject({ content: 'secure' });
  expect(await failureOf(runTool(createTool(), { url: `${secure.origin}/down` }))).toMatchObject({
    name: 'RetryableToolError',
    message: `URL '${secure.origin}/down' redirects from https to http, to '${plain.origin}/page'. Try a different URL.`,
  });
  expect(plain.requests.map(({ path }) => path)).toEqual(['/up']);
});

test('a certificate nobody vouches for is a failure that is not tried again', async () => {
  setDefaultCACertificates([]);
  const target = await startHttpsTarget(answering(200), createCertificate());
  expect(await failureOf(runTool(createTool(), { url: target.origin }))).toMatchObject({
    name: 'TerminalToolError',
    message: `No secure connection to '127.0.0.1:${target.port}' (DEPTH_ZERO_SELF_SIGNED_CERT). Use another source.`,
  });
  expect(target.connections()).toBe(1);
});
