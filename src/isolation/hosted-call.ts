import type { CallListener } from './host-conversation.ts';
import type { HostOrder } from './host-messages.ts';
import type { RunningCall } from './running-call.ts';

/** What a call in a host needs. */
export type HostedCall = Pick<CallListener, 'tool' | 'log' | 'progress'> & {
  readonly input: Readonly<Record<string, unknown>>;
  readonly session: string | null;
  readonly tenant: string | null;
  readonly caller: string | null;
  readonly callId: string | number | null;
  readonly retriesLeft: number;
  readonly idempotencyKey: string | null;
  readonly traceparent: string | null;
  readonly graceful: 'on' | 'off';
  readonly timeoutMs: number;
};

/** What a host is told of a call. */
export const toCallOrder = ({ nonce, beginBy }: RunningCall, version: string, call: HostedCall): HostOrder => ({
  type: 'call',
  nonce,
  version,
  beginBy,
  role: call.tool.role,
  tool: call.tool.name,
  session: call.session,
  tenant: call.tenant,
  caller: call.caller,
  callId: call.callId,
  // Of the service's tool: its operator may have said otherwise than the file.
  effects: call.tool.effects,
  retriesLeft: call.retriesLeft,
  timeoutMs: call.timeoutMs,
  idempotencyKey: call.idempotencyKey,
  traceparent: call.traceparent,
  graceful: call.graceful,
});
