import type { NoAnswer } from '../../http/exchange.ts';
import { TerminalToolError, UpstreamToolError } from '../../tool-errors.ts';

/** The error for a request that has no answer. `executed` is `no` where it was never sent, else `maybe`. */
export const toSilenceFailure = (
  { reason, executed, code, cause }: NoAnswer,
  importName: string,
): TerminalToolError | UpstreamToolError => {
  if (reason === 'address_refused')
    return new TerminalToolError('The API is at an address that is not public, and was not asked.', {
      executed: 'no',
      hint: `A human must see to this: the setting 'privateAddresses' of the OpenAPI import '${importName}'.`,
      cause,
    });
  return new UpstreamToolError('upstream_unavailable', `${TEXTS[reason]} (${code}).`, { executed, cause });
};

const TEXTS = {
  not_sent: 'The request cannot be sent',
  no_such_host: 'The host of the API does not exist',
  lookup_failed: 'The address of the API was not found out',
  not_connected: 'No connection to the API',
  bad_certificate: 'No secure connection to the API',
  lost: 'The connection to the API broke before the whole answer came',
  too_slow: 'The API did not answer in time',
  unreadable: 'The API sent an answer that cannot be read',
} as const satisfies Record<Exclude<NoAnswer['reason'], 'address_refused'>, string>;
