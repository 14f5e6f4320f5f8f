import type { ServerContext } from '@modelcontextprotocol/server';
import type { BatchRequest } from '../executor/batch-request.ts';

export type ProgressNotifier = {
  /** null where the client did not ask for progress. */
  readonly onProgress: BatchRequest['onProgress'];
  /** The call is answered: nothing may follow. */
  readonly end: () => void;
};

/** Tells a client how far its call is, under the token it gave. Values that do not rise are left out: MCP wants that. */
export const createProgressNotifier = (
  progressToken: string | number | undefined,
  notify: ServerContext['mcpReq']['notify'],
): ProgressNotifier => {
  if (progressToken === undefined) return { onProgress: null, end: () => undefined };
  let last = Number.NEGATIVE_INFINITY;
  return {
    onProgress: (_index, { progress, total, message }) => {
      if (!(progress > last)) return;
      last = progress;
      const params = {
        progressToken,
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      };
      // Rejects where the client has gone: then nobody wants to know.
      notify({ method: 'notifications/progress', params }).catch(() => undefined);
    },
    end: () => {
      last = Number.POSITIVE_INFINITY;
    },
  };
};
