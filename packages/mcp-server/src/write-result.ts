import { memberOf } from 'recourse-server/contract/json-record';
import type { Revision } from './read-request.ts';

export type ResultWriter = ReturnType<typeof createResultWriter>;

/** Writes responses as JSON text. Revision 2026-07-28 wants every result to have its type and to name the server. */
export const createResultWriter = (version: string) => {
  const meta = { 'io.modelcontextprotocol/serverInfo': { name: 'recourse', version } };
  const tail = `,"resultType":"complete","_meta":${JSON.stringify(meta)}`;
  return {
    /** `members`: of the result, as JSON text without braces. */
    fromText: (id: string | number, members: string, revision: Revision): string =>
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${members}${revision === 'current' ? tail : ''}}}`,
    fromObject: (id: string | number, result: object, revision: Revision): string => {
      const typed =
        revision === 'current'
          ? { resultType: 'complete', ...result, _meta: { ...Object(memberOf(result, '_meta')), ...meta } }
          : result;
      return JSON.stringify({ jsonrpc: '2.0', id, result: typed });
    },
  };
};
