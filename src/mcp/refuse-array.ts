/** The one revision in which a body may hold several messages; a request that names none is taken for one of it. */
const REVISION_WITH_ARRAYS = '2025-03-26';

/** The answer to a body of several messages where its revision knows none such (MCP 2025-06-18 took them away); else null. */
export const refuseArray = (body: unknown, { headers }: Request): Response | null => {
  if (!Array.isArray(body)) return null;
  const revision = headers.get('mcp-protocol-version');
  if (revision === null || revision === REVISION_WITH_ARRAYS) return null;
  const message = `Several messages in one body are known to revision ${REVISION_WITH_ARRAYS} alone. Send each in a request of its own.`;
  // JSON-RPC 2.0: of which request it is cannot be said.
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } }, { status: 400 });
};

const INVALID_REQUEST = -32_600;
