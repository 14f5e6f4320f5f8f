import * as z from 'zod';

/** RFC 9457 problem details: the body of every answer that is not 200 or 204. */
export const Problem = z
  .object({
    type: z.string().describe('A URI reference that names the kind of problem.'),
    title: z.string(),
    status: z.int(),
    code: z.string().describe('The same kind as a stable word.'),
    detail: z.string().describe('What was wrong this time and how to mend it.'),
    request_id: z.string(),
  })
  .meta({ id: 'Problem' });
export type Problem = Readonly<z.infer<typeof Problem>>;
