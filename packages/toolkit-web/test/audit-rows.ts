import { rowsOf, type ToolkitAudit } from '../../../scripts/tools-audit/audit-row.ts';

export const AUDIT: ToolkitAudit = {
  rows: [
    ...rowsOf('fetch_url', [
      ['list is empty', 'the page has no content', "URL '…' answered without content."],
      [
        'malformed parameter',
        '`url` is no URL',
        "'example' is not a URL. Send an absolute one, for example https://example.com/page.",
      ],
      [
        'wrong value',
        'the address is not public',
        "URL 'http://127.0.0.1/' was not fetched: its address is not public. Use a public URL.",
      ],
      ['wrong value', 'there is no such page (404)', "HTTP 404: URL '…' not found. Try a different URL."],
      [
        'wrong value',
        'the page is no text',
        "URL '…' is image/png, not text. Use a URL that answers with text, such as an HTML page.",
      ],
      [
        'credentials refused',
        'the page asks for a login (401)',
        "HTTP 401: URL '…' needs a login, and none is sent. Use a source that is open to everyone.",
      ],
      ['no access', 'access is forbidden (403)', "HTTP 403: access to URL '…' is forbidden. Use another source."],
      [
        'rate limit',
        'the server limits us (429)',
        'Rate limit exceeded (429). Try again in 60 seconds or use another source.',
        'upstream_rate_limited',
      ],
      [
        'upstream is down',
        'the server is not available (503)',
        "HTTP 503: the server of URL '…' is not available. Try again in 60 seconds or use another source.",
      ],
    ]),
  ],
};
