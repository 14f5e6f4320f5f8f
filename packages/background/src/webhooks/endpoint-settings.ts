import * as z from 'zod';

/** What an endpoint can be told of. */
export const WEBHOOK_EVENTS = [
  'tool_call.pending',
  'tool_call.approval_requested',
  'tool_call.completed',
  'tool_calls.completed',
  'tool_call.reconciled',
] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

const PREFIX = 'whsec_';
// What Standard Webhooks allows: below it a secret can be guessed, above it HMAC-SHA256 gains nothing.
const SECRET_BYTES = { least: 24, most: 64 } as const;
const SECRET_PROBLEM = `must be ${PREFIX} and then base64 of ${SECRET_BYTES.least} to ${SECRET_BYTES.most} random bytes`;

// Compared as text: Buffer passes over what is no base64, and a receiver may not.
const isSecret = (text: string): boolean => {
  const base64 = text.slice(PREFIX.length);
  const bytes = Buffer.from(base64, 'base64');
  const fits = bytes.length >= SECRET_BYTES.least && bytes.length <= SECRET_BYTES.most;
  return text.startsWith(PREFIX) && fits && bytes.toString('base64') === base64;
};

type Refinement = { addIssue: (issue: { code: 'custom'; message: string; path?: (string | number)[] }) => void };

const checkSecrets = (given: string | readonly string[], context: Refinement): void => {
  const isList = typeof given !== 'string';
  const secrets = isList ? given : [given];
  if (secrets.length < 1 || secrets.length > 2)
    context.addIssue({ code: 'custom', message: 'must be one secret, or the new and the old one while rotating' });
  for (const [place, secret] of secrets.entries())
    if (!isSecret(secret))
      context.addIssue({ code: 'custom', message: SECRET_PROBLEM, ...(isList ? { path: [place] } : {}) });
};

/** One secret, or two while receivers change from the old one to the new one: each message is signed with both. */
const Secrets = z
  .union([z.string(), z.array(z.string())])
  .superRefine(checkSecrets)
  .transform((given): readonly string[] => (typeof given === 'string' ? [given] : given));

const findUrlProblem = (text: string): string | null => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an absolute https URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  return url.hash === '' ? null : 'must not contain a fragment';
};

const checkUrl = (text: string, context: Refinement): void => {
  const message = findUrlProblem(text);
  if (message !== null) context.addIssue({ code: 'custom', message });
};

// As callers of `notify` write it, and as a label of metrics and a part of a Redis key.
const EndpointName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be 1 to 64 of A-Z a-z 0-9 _ -');
const Tenant = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be the name of a tenant');

const EndpointSettings = z
  .strictObject({
    /** Where messages are sent. http: only with `privateAddresses: allow`. */
    url: z.string().superRefine(checkUrl),
    secret: Secrets,
    /** What it is told of. */
    events: z.array(z.enum(WEBHOOK_EVENTS)).min(1, 'must name at least one event'),
    /** `allow`: it may be at an address that is not public. */
    privateAddresses: z.enum(['refuse', 'allow']).default('refuse'),
    /** Whose callers may choose it. Default: all tenants. */
    tenants: z.array(Tenant).min(1, 'must name at least one tenant').optional(),
  })
  .superRefine(({ url, privateAddresses }, context) => {
    if (privateAddresses === 'refuse' && /^http:/i.test(url))
      context.addIssue({
        code: 'custom',
        path: ['url'],
        message: 'must be an https URL: http is allowed only with privateAddresses: allow',
      });
  });

/** An endpoint of the configuration file, checked. */
export type EndpointSettings = Readonly<z.output<typeof EndpointSettings>>;

/** The section `webhooks` of the configuration file: endpoints by the names that callers choose them by. */
export const WEBHOOKS = z
  .record(EndpointName, EndpointSettings)
  .default({})
  .describe('Endpoint name → where to send signed messages about pending calls');
