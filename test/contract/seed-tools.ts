import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';
import { empty, ok } from '#src/tools/tool-values.ts';

class FileNotFoundError extends Error {}

const cause = new Error('ENOENT: no such file or directory');

/** The tools of the five design notes, as their examples describe them. */
export const SEED_TOOLS = [
  defineTool({
    name: 'read_data',
    description: 'Reads a file that is not there.',
    effects: 'read',
    input: z.object({ path: z.string() }),
    run: ({ path }) => {
      throw new FileNotFoundError(`[Errno 2] No such file or directory: '${path}'`, { cause });
    },
  }),
  defineTool({
    name: 'guided',
    description: 'Tells the model what to do.',
    effects: 'read',
    input: z.object({}),
    run: () => {
      throw new RetryableToolError("No user found with name 'John', provide their full name");
    },
  }),
  defineTool({
    name: 'critical_tool',
    description: 'Must fail loudly.',
    effects: 'write',
    gracefulErrors: false,
    input: z.object({ data: z.string() }),
    run: () => {
      throw new TypeError('Must not be silently converted');
    },
  }),
  defineTool({
    name: 'lenient_tool',
    description: 'Opts in where the service opted out.',
    effects: 'read',
    gracefulErrors: true,
    input: z.object({ data: z.string() }),
    run: async () => {
      throw new Error('Can be retried');
    },
  }),
  defineTool({
    name: 'failing_tool',
    description: 'Signals an error.',
    effects: 'read',
    input: z.object({}),
    run: () => {
      throw new Error('Something went wrong');
    },
  }),
  defineTool({
    name: 'describe_symbol',
    description: 'Describes a symbol.',
    effects: 'read',
    input: z.object({ symbol: z.string() }),
    run: ({ symbol }) => ({ documentation: `About ${symbol}.` }),
  }),
  defineTool({
    name: 'structured_failure',
    description: 'Fails with a payload.',
    effects: 'read',
    input: z.object({}),
    run: () => {
      throw new RetryableToolError('Page 5 not available. Search from page 1 first.', { value: { page: 5 } });
    },
  }),
  defineTool({
    name: 'search_drive',
    description: 'Searches, and finds nothing.',
    effects: 'read',
    retries: 1,
    input: z.object({ query: z.string() }),
    run: () => empty('No files found.', { display: 'No files found.', count: 0, page: 1, has_more: false }),
  }),
  defineTool({
    name: 'old_search_drive',
    description: 'Searches as it was done before: nothing found is an error.',
    effects: 'read',
    retries: 1,
    input: z.object({ query: z.string() }),
    run: () => {
      throw new RetryableToolError('No results. Try different keywords.');
    },
  }),
  defineTool({
    name: 'list_items',
    description: 'Lists, and has none.',
    effects: 'read',
    input: z.object({}),
    run: () => ({ display: 'No items.', count: 0 }),
  }),
  defineTool({
    name: 'told',
    description: 'Says a word with its value.',
    effects: 'read',
    input: z.object({}),
    run: () => ok({ count: 2 }, '2 files found.'),
  }),
];
