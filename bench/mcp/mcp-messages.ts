import type { LoadMessage } from '../load-message.ts';

const PATH = '/mcp';
const HEADERS = { accept: 'application/json, text/event-stream' };
const CURRENT = '2026-07-28';
const PREVIOUS = '2025-11-25';
const CLIENT = { name: 'bench', version: '1.0.0' };

const toRequest = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

/** A call of `echo` in the current revision: whole in itself, without a session. */
export const toModernCall = (text: string): LoadMessage => ({
  path: PATH,
  headers: { ...HEADERS, 'mcp-protocol-version': CURRENT, 'mcp-method': 'tools/call', 'mcp-name': 'echo' },
  body: toRequest('tools/call', {
    name: 'echo',
    arguments: { text },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': CURRENT,
      'io.modelcontextprotocol/clientInfo': CLIENT,
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }),
});

/** A call of `echo` in the revision before, of a session that was opened earlier. */
export const toSessionCall = (session: string | null, text: string): LoadMessage => ({
  path: PATH,
  headers: {
    ...HEADERS,
    'mcp-protocol-version': PREVIOUS,
    ...(session === null ? {} : { 'mcp-session-id': session }),
  },
  body: toRequest('tools/call', { name: 'echo', arguments: { text } }),
});

/** What opens a session. */
export const toInitialize = (): LoadMessage => ({
  path: PATH,
  headers: HEADERS,
  body: toRequest('initialize', { protocolVersion: PREVIOUS, capabilities: {}, clientInfo: CLIENT }),
});
