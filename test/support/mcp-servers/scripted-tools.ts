export type ScriptedTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: unknown;
  readonly annotations?: Readonly<Record<string, unknown>>;
};

const READ = { readOnlyHint: true };
const plain = (name: string): ScriptedTool => ({ name, description: `Does ${name}.` });
const reading = (name: string): ScriptedTool => ({ ...plain(name), annotations: READ });

/** Answers with the request as it was written, digit by digit. */
export const SPELLED: ScriptedTool = {
  ...reading('spelled'),
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      rows: {
        type: 'array',
        items: {
          type: 'object',
          properties: { id: { type: ['integer', 'null'] }, n: { type: 'integer', default: 5 } },
          required: ['n'],
        },
      },
    },
  },
};

/** What the scripted server offers, before any of its tools changes that. */
export const SCRIPTED_TOOLS: readonly ScriptedTool[] = [
  {
    name: 'echo',
    description: 'Gives the text back.',
    inputSchema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        text: { type: 'string' },
        pair: { type: 'array', items: [{ type: 'number' }, { type: 'string' }] },
      },
      required: ['text'],
    },
    annotations: READ,
  },
  ...['meta', 'environment', 'pid', 'nothing', 'parts', 'structured', 'wait', 'progress'].map(reading),
  ...['structured_parts', 'structured_twice', 'structured_otherwise'].map(reading),
  ...['block', 'grandchild', 'endless', 'bad_params', 'odd_error', 'fail'].map(reading),
  ...['count_and_wait', 'count_and_die', 'fail_writing', 'bad_params_writing', 'large_writing'].map(plain),
  { ...plain('large'), inputSchema: { type: 'object', properties: { bytes: { type: 'number' } } }, annotations: READ },
  ...['change_description', 'change_back', 'remove_echo', 'add_late', 'forget_silently'].map(plain),
  SPELLED,
  { name: 'set', description: 'Sets it.', annotations: { idempotentHint: true, destructiveHint: false } },
  { name: 'two words', description: 'A name that is made fit.' },
  { name: 'same/name', description: 'One of two.' },
  { name: 'same name', description: 'Two of two.' },
  {
    name: 'broken',
    description: 'Cannot be compiled.',
    inputSchema: { type: 'object', properties: { a: { $ref: '#/nowhere' } } },
  },
  {
    name: 'wrong_header',
    description: 'No client may offer it.',
    inputSchema: { type: 'object', properties: { a: { type: 'array', 'x-mcp-header': 'A' } } },
  },
  { name: 'x'.repeat(100), description: 'A long name.' },
];
