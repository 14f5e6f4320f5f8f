/** A file of a tools directory whose tools leak what is in their environment, in every way there is. */
export const LEAKY_TOOLS = `
  import { defineReducer, defineTool, empty, ok, RetryableToolError, TerminalToolError, z } from 'recourse-server';

  const SPELLINGS = {
    plain: (text) => text,
    json: (text) => JSON.stringify(text),
    url: (text) => 'https://example.com/?q=' + encodeURIComponent(text),
    form: (text) => new URLSearchParams({ q: text }).toString(),
    base64: (text) => Buffer.from(text).toString('base64'),
    basic: (text) => 'Basic ' + Buffer.from('user:' + text).toString('base64'),
    base64url: (text) => Buffer.from('ab' + text).toString('base64url'),
    uri: (text) => 'https://example.com/' + encodeURI(text),
    php: (text) => JSON.stringify(text).replaceAll('/', '\\\\/'),
    units: (text) => JSON.stringify(text).replace(/[^ -%'-~]/g,
      (unit) => '\\\\u' + unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')),
  };
  const fill = (length) => 'x'.repeat(length);
  const named = (name) => Object.assign(new Error('named'), { name });
  const late = (signal, end) => new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => end(resolve, reject));
  });

  const WAYS = {
    value: (text) => ({ list: [1, { text }] }),
    key: (text) => ({ [text]: { ['a ' + text]: 1 } }),
    number: (text) => ({ number: Number(text) || 0, list: [Number(text) || 0] }),
    ok: (text) => ok({ text }, 'it is ' + text),
    empty: (text) => empty('nothing at ' + text, []),
    said_at_the_cut: (text) => ok(1, fill(1990) + text),
    message: (text) => { throw new Error('it is ' + text); },
    text: (text) => { throw text; },
    object: (text) => { throw { it: { is: text } }; },
    name: (text) => { throw named(text); },
    cause: (text) => { throw new Error('outer', { cause: new Error(text, { cause: { text } }) }); },
    hint: (text) => { throw Object.assign(new Error('no'), { hint: text }); },
    stack: (text) => { throw Object.assign(new Error('no'), { stack: 'Error: no\\n    at ' + text + ' (a.js:1:1)' }); },
    retryable: (text) => { throw new RetryableToolError(text, { hint: text, value: { [text]: text } }); },
    terminal: (text) => { throw new TerminalToolError(text, { value: [text] }); },
    at_the_cut: (text) => { throw new Error(fill(1985) + text + fill(9000)); },
    at_the_host_cut: (text) => { throw new Error('outer', { cause: new Error(fill(3990) + text + fill(9000)) }); },
    hint_at_the_cut: (text) => { throw Object.assign(new Error('no'), { hint: fill(990) + text }); },
    journal_cut: (text) => { throw new Error(fill(485) + text); },
    line_cut: (text) => { throw new Error(fill(185) + text); },
    many: (text) => { throw new Error((text + ' ').repeat(400)); },
    console: (text) => { console.log(text); console.error('oh ' + text); console.log(fill(492) + text); return 1; },
    log: (text, { log }) => { log.warn(text, { [text]: text, deep: [text] }); log.info(fill(990) + text); return 1; },
    progress: (text, { progress }) => { progress({ progress: 1, message: text }); return 1; },
    stray: (text) => { setTimeout(() => { throw new Error(text); }, 5); return 1; },
    crash: (text) => { console.error('last words ' + text); console.error(fill(480) + text); process.exit(3); },
    late_value: (text, { signal }) => late(signal, (resolve) => resolve({ text })),
    late_error: (text, { signal }) => late(signal, (_, reject) => reject(new Error(text))),
    too_large: (text) => fill(8180) + text + fill(2000000),
  };

  const anything = { type: 'object', additionalProperties: true };
  const run = ({ way, of, how }, context) => WAYS[way](SPELLINGS[how](process.env[of]), context);
  const token = process.env.CANARY_TOKEN;
  const reducer = (name, reduce) => defineReducer({ name, initial: [], reduce });

  export const tools = [
    defineTool({ name: 'leak', description: 'Uses ' + token + '.', effects: 'read', timeoutMs: 2000, input: anything, run }),
    defineTool({
      name: 'leak_writing', description: 'Leaks.', effects: 'write', timeoutMs: 2000, retries: 50,
      input: { type: 'object', properties: { key: { type: 'string', default: token } }, additionalProperties: true }, run,
    }),
    defineTool({
      name: 'checked', description: 'Leaks what it checks.', effects: 'read',
      input: z.looseObject({ of: z.string().refine((of) => !process.env[of], { error: ({ input }) => 'not ' + process.env[input] }) }),
      run: () => 1,
    }),
    defineTool({
      name: 'wrong_output', description: 'Gives what it should not.', effects: 'read', input: anything,
      output: { type: 'object', additionalProperties: false },
      run: ({ of }) => ({ [process.env[of]]: process.env[of] }),
    }),
    defineTool({ name: 'takes_number', description: 'Takes a number.', effects: 'read', input: z.object({ n: z.number() }), run: () => 1 }),
    defineTool({
      name: 'throws', description: 'Throws what it is told.', effects: 'read', input: z.object({ text: z.string() }),
      run: ({ text }) => { throw Object.assign(new Error('no: ' + text, { cause: new Error(text) }), { hint: text }); },
    }),
    reducer('leaking', (seen) => [...seen, process.env.CANARY_PASSWORD]),
    reducer('throwing', () => { throw new Error(fill(290) + process.env.CANARY_TOKEN); }),
  ];
`;

/** A file that leaks while it loads. */
export const LEAKY_FILE = `
  console.error('loading with ' + process.env.CANARY_TOKEN);
  throw new Error('x'.repeat(470) + process.env.CANARY_TOKEN + ' ' + process.env.CANARY_PASSWORD);
`;

export const LEAKY_WAYS = [
  ...['value', 'key', 'number', 'ok', 'empty', 'said_at_the_cut', 'message', 'text', 'object', 'name', 'cause', 'hint'],
  ...['stack', 'retryable', 'terminal', 'at_the_cut', 'at_the_host_cut', 'hint_at_the_cut', 'journal_cut', 'line_cut'],
  ...['many', 'console', 'log', 'progress'],
] as const;

/** These end their process, or take their time. */
export const SLOW_WAYS = ['stray', 'crash', 'late_value', 'late_error', 'too_large'] as const;
