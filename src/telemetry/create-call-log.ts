import type { Logger } from 'pino';
import type { CreateCallLog } from '../executor/call-context.ts';

/** The log of one call: the service's, with the call's ids on every line. */
export const createCallLog =
  (log: Logger): CreateCallLog =>
  ({ requestId, tool, callId }) => {
    const child = log.child({ request_id: requestId, tool, call_id: callId });
    return {
      debug: (message, fields = {}) => child.debug({ fields }, message),
      info: (message, fields = {}) => child.info({ fields }, message),
      warn: (message, fields = {}) => child.warn({ fields }, message),
      error: (message, fields = {}) => child.error({ fields }, message),
    };
  };
