import { Webhook } from 'standardwebhooks';

/** The headers that prove who sent a message and when, one signature a secret (Standard Webhooks 1.0, `v1`). */
export const signMessage = (
  {
    id,
    time,
    body,
  }: {
    /** The same in every attempt. */
    readonly id: string;
    /** Of this attempt, milliseconds since the epoch. */
    readonly time: number;
    readonly body: string;
  },
  secrets: readonly string[],
): Readonly<Record<string, string>> => {
  const at = new Date(time);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(time / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
};
