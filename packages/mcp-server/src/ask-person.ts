import { randomUUID } from 'node:crypto';
import { isRecord, memberOf } from 'recourse-server/contract/json-record';
import type { Approval } from 'recourse-server/contract/tool-result';
import { capabilitiesOf, type Exchange, type RpcError } from './rpc-exchange.ts';

// URL elicitation: a client that declares it shows its user where a person decides on a call that needs an approval, and sends the
// call again afterwards. 2025-11-25 has an error for that (a request of the server's own would need a stream of the session),
// 2026-07-28 a result. Either way the model reads nothing until the call has been decided.

const declaresUrls = (capabilities: unknown): boolean =>
  isRecord(memberOf(memberOf(capabilities, 'elicitation'), 'url'));

// Before 2026-07-28 a client declares what it can do once, in `initialize`, and nothing of a session is kept: its id says it.
const URL_SESSION = '-url';
const WITH_URLS = '2025-11-25';

/** The id of the session that a client begins by this `initialize`. */
export const createSessionId = (initialize: unknown): string => {
  const params = memberOf(initialize, 'params');
  const takesUrls = memberOf(params, 'protocolVersion') === WITH_URLS && declaresUrls(memberOf(params, 'capabilities'));
  return `${randomUUID()}${takesUrls ? URL_SESSION : ''}`;
};

/** Whether the client of a request takes its user to a URL. */
export const takesUrls = (
  revision: 'current' | 'earlier',
  meta: unknown,
  { sessionId }: Pick<Exchange, 'sessionId'>,
): boolean => (revision === 'current' ? declaresUrls(capabilitiesOf(meta)) : sessionId?.endsWith(URL_SESSION) === true);

/** An approval that is decided at a URL. */
type Asked = Approval & { readonly url: string };

/** What a person has to decide at a URL; null: nothing, or nobody says where. */
export const toAsked = (approval: Approval | null | undefined): Asked | null =>
  approval == null || approval.url === null ? null : { ...approval, url: approval.url };

const explain = ({ summary, expires_at: until }: Asked): string =>
  `A person has to approve this before it runs, until ${until}: ${summary}`;

/** The input that a task or a call of 2026-07-28 waits for. */
export const writeInputRequests = (asked: Asked) => ({
  [asked.id]: { method: 'elicitation/create', params: { mode: 'url', url: asked.url, message: explain(asked) } },
});

/** `InputRequiredResult` of 2026-07-28. */
export const writeInputRequired = (asked: Asked) => ({
  resultType: 'input_required',
  inputRequests: writeInputRequests(asked),
});

/** `URLElicitationRequiredError` of 2025-11-25. */
export const createUrlError = (asked: Asked, { requestId }: Pick<Exchange, 'requestId'>): RpcError => ({
  code: -32_042,
  message: 'A person has to approve this call. It has not run: send it again once it is approved.',
  data: {
    elicitations: [{ mode: 'url', elicitationId: asked.id, url: asked.url, message: explain(asked) }],
    ...{ code: 'approval_required', request_id: requestId },
  },
});

/**
 * Whether the user of a call that is sent again has been asked for this approval. It still waits then, and the model reads so: the
 * client would else ask again at once.
 */
export const wasAsked = (params: unknown, { id }: Asked): boolean =>
  memberOf(memberOf(params, 'inputResponses'), id) !== undefined;
