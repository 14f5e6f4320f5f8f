/**
 * The answer to a body of several messages, else null. Revision 2025-03-26 alone had them, 2025-06-18 took them away:
 * one small request would ask for a hundred catalogues.
 */
export const refuseArray = (body: unknown): Response | null => {
  if (!Array.isArray(body)) return null;
  const message = 'Several messages in one body are not taken. Send each in a request of its own.';
  // JSON-RPC 2.0: of which request it is cannot be said.
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } }, { status: 400 });
};

const INVALID_REQUEST = -32_600;
