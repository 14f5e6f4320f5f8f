import { type Arrangement, type Arrangements, callOnce, describeAudit } from '@recourse/test-support/audit-lab.ts';
import { type Answerer, answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { AUDIT } from './audit-rows.ts';

/** A call of a service that needs nothing. */
const anywhere =
  (tool: string, args: Readonly<Record<string, unknown>>): Arrangement =>
  async ({ bare }) =>
    callOnce(await bare(), tool, args);

const fromServer =
  (answer: Answerer): Arrangement =>
  async ({ serve }) => {
    const { origin } = await startHttpTarget(answer);
    return callOnce(await serve({ FETCH_ALLOW_PRIVATE: 'true' }), 'fetch_url', { url: `${origin}/page` });
  };

// Longer than the tool may take: it is not waited for.
const IN_A_MINUTE = { 'retry-after': '60' };

const ARRANGEMENTS: Arrangements = {
  'fetch_url: the page has no content': fromServer(answering(200)),
  'fetch_url: `url` is no URL': anywhere('fetch_url', { url: 'example' }),
  'fetch_url: the address is not public': anywhere('fetch_url', { url: 'http://127.0.0.1/' }),
  'fetch_url: there is no such page (404)': fromServer(answering(404)),
  'fetch_url: the page is no text': fromServer(answering(200, { 'content-type': 'image/png' }, Uint8Array.of(0, 1))),
  'fetch_url: the page asks for a login (401)': fromServer(answering(401)),
  'fetch_url: access is forbidden (403)': fromServer(answering(403)),
  'fetch_url: the server limits us (429)': fromServer(answering(429, IN_A_MINUTE)),
  'fetch_url: the server is not available (503)': fromServer(answering(503, IN_A_MINUTE)),
};

describeAudit({
  audit: AUDIT,
  situations: {
    fetch_url: [
      'malformed parameter',
      'wrong value',
      'list is empty',
      'credentials refused',
      'no access',
      'rate limit',
      'upstream is down',
    ],
  },
  arrangements: ARRANGEMENTS,
});
