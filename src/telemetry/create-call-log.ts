import type { Logger } from 'pino';
import type { CreateCallLog } from '../executor/call-context.ts';
import type { Redactor } from '../executor/redactor.ts';

// It stands on every line that a tool writes, and callers choose it: a megabyte a line would fill the disk in seconds.
const MAX_ID = 128;

/** The log of one call: the service's, with the call's ids on every line. */
export const createCallLog =
  (log: Logger, redactor: Pick<Redactor, 'cut'>): CreateCallLog =>
  ({ requestId, tool, callId }) => {
    const id = typeof callId === 'string' ? redactor.cut(callId, MAX_ID, 'log') : callId;
    const child = log.child({ request_id: requestId, tool, call_id: id });
    return {
      debug: (message, fields = {}) => child.debug({ fields }, message),
      info: (message, fields = {}) => child.info({ fields }, message),
      warn: (message, fields = {}) => child.warn({ fields }, message),
      error: (message, fields = {}) => child.error({ fields }, message),
    };
  };
