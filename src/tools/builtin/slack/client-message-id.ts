import { hash } from 'node:crypto';

/**
 * The UUID (version 8 of RFC 9562) that a message is sent with as `client_msg_id`: the same for each repeat of one call
 * with one key, another one for any other key, session or text. The session keeps tenants with equal keys apart.
 */
export const toClientMessageId = (parts: {
  readonly idempotencyKey: string;
  readonly session: string;
  /** All that is posted. */
  readonly message: Readonly<Record<string, string>>;
}): string => {
  const { idempotencyKey, session, message } = parts;
  const bits = hash('sha256', JSON.stringify(['recourse slack message', idempotencyKey, session, message]));
  // Sections 4.1 and 5.8: the version is 8, and the two bits of the variant are 10.
  const variant = ((Number.parseInt(bits.slice(16, 17), 16) & 0b0011) | 0b1000).toString(16);
  return `${bits.slice(0, 8)}-${bits.slice(8, 12)}-8${bits.slice(13, 16)}-${variant}${bits.slice(17, 20)}-${bits.slice(20, 32)}`;
};
