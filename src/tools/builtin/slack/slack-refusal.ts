import * as z from 'zod';

/** What Slack said instead of an answer: `{"ok": false, "error": "channel_not_found"}`. */
export type SlackRefusal = {
  readonly code: string;
  /** The scope that was missing, in Slack's own words. */
  readonly needed: string | undefined;
};

const Refused = z
  .object({
    ok: z.literal(false),
    error: z.string().regex(/^[a-z][a-z0-9_]{0,79}$/),
    needed: z.string().optional().catch(undefined),
  })
  .transform(({ error, needed }): SlackRefusal => ({ code: error, needed }));

/**
 * The refusal that the body of an answer is; undefined where it is none. Not what Slack's library makes of it: a body
 * that is no JSON, the word `timeout` of something before Slack for one, is a refusal of that code to it.
 */
export const toSlackRefusal = (body: string): SlackRefusal | undefined => Refused.safeParse(parseJson(body)).data;

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (_noJson) {
    return undefined;
  }
};
