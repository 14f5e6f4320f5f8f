import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type ExitCode, type Terminal, toPlainLines, toPlainText } from 'recourse-server/cli/terminal';
import { PACKAGE_ROOT } from 'recourse-server/files/own-package';
import { CommandFailed, readMessage, WrongUse } from './command-output.ts';

/** Makes a tools directory that loads, whose test passes and whose types check. Overwrites nothing. */
export const runInit = (directory: string, terminal: Terminal): ExitCode => {
  if (directory === '') throw new WrongUse('The directory needs a name.');
  const root = resolve(directory);
  const recourse = findPackage(root);
  const files = writeTemplateFiles({ name: findPackageName(root), recourse });
  const there = [...files.keys()].filter((path) => existsSync(join(root, path)));
  const shownDirectory = toPlainText(directory);
  if (there.length > 0)
    throw new CommandFailed(
      `recourse: nothing was created: ${shownDirectory} already contains ${there.join(', ')}. Name another directory.`,
    );
  try {
    writeFiles(root, files, recourse);
  } catch (error) {
    throw new CommandFailed(`recourse: ${shownDirectory} could not be written: ${toPlainText(readMessage(error))}.`);
  }
  const shown = relative(process.cwd(), root) || '.';
  const commands = writeCommands(shown, recourse);
  const width = Math.max(...commands.map(([command]) => command.length));
  const lines = commands.map(([command, what]) => `  ${command.padEnd(width)}   ${what}\n`);
  terminal.write(toPlainLines(`Made ${shown}: ${[...files.keys()].join(', ')}.\n\nNext:\n\n${lines.join('')}`));
  return 0;
};

const writeCommands = (directory: string, { kind, command }: FoundPackage) => [
  ...(kind === 'missing'
    ? [[`npm install --prefix ${quote(directory)}`, 'installs recourse-server there'] as const]
    : []),
  [`npm test --prefix ${quote(directory)}`, 'runs the tests of the tools'] as const,
  [`${command} check ${quote(directory)}`, 'loads them like the service'] as const,
  [`${command} call --tools ${quote(directory)} roll_dice count=2 sides=6`, 'calls one'] as const,
  [`${command} --tools ${quote(directory)}`, 'serves them'] as const,
];

const quote = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

const writeFiles = (root: string, files: ReadonlyMap<string, string>, recourse: FoundPackage): void => {
  mkdirSync(root, { recursive: true });
  // Not over what another process has made meanwhile.
  for (const [path, text] of files) writeFileSync(join(root, path), text, { flag: 'wx' });
  if (recourse.kind !== 'checkout') return;
  const link = join(root, 'node_modules/recourse-server');
  mkdirSync(dirname(link), { recursive: true });
  if (!existsSync(link)) symlinkSync(recourse.root, link, 'junction');
};

/** What npm takes for the name of a package. */
const findPackageName = (root: string): string =>
  basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '') || 'tools';

/** How files of a directory come to the package `recourse-server`, and how this program is called. */
type FoundPackage = {
  /**
   * `installed`: an import finds it above the directory. `checkout`: this program runs from its sources, which an import does
   * not find. `missing`: it must be installed.
   */
  readonly kind: 'installed' | 'checkout' | 'missing';
  /** Where this program's package lies, as an absolute path. */
  readonly root: string;
  /** The same as seen from the directory. */
  readonly fromTools: string;
  /** What a person types for this program: `npx recourse-server`, or Node with the sources. */
  readonly command: string;
};

/** Looks for the package `recourse-server` as an import from a file of `directory` would; the directory need not be there yet. */
const findPackage = (directory: string): FoundPackage => {
  const root = resolve(PACKAGE_ROOT);
  const isCheckout = import.meta.url.endsWith('.ts');
  const notFound = isCheckout ? 'checkout' : 'missing';
  const places = createRequire(join(directory, 'tool.js')).resolve.paths('recourse-server') ?? [];
  const isFound = places.some((place) => existsSync(join(place, 'recourse-server/package.json')));
  return {
    kind: isFound ? 'installed' : notFound,
    root,
    fromTools: relative(directory, root),
    command: isCheckout ? writeCheckoutCommand(root) : 'npx recourse-server',
  };
};

// npm starts the Node that comes with a checkout; elsewhere than in the checkout it would look for files there.
const writeCheckoutCommand = (root: string): string =>
  process.cwd() === root ? 'npm start --' : `${NODE} ${relative(process.cwd(), join(root, 'src/main.ts'))}`;

/** What the files are made for: `name` is that of the package that the directory becomes. */
type Template = { readonly name: string; readonly recourse: FoundPackage };

/** The files of a new tools directory: path → text. */
const writeTemplateFiles = (options: Template): ReadonlyMap<string, string> =>
  new Map([
    ['roll-dice.ts', TOOL],
    ['roll-dice.test.ts', TEST],
    ['add-note.ts', WRITE],
    ['add-note.test.ts', WRITE_TEST],
    ['package.json', writeManifest(options)],
    ['tsconfig.json', writeTypeScriptSettings(options)],
    ['README.md', writeReadme(options)],
    ['.gitignore', 'node_modules/\n.env\n'],
  ]);

// Indented here, for what looks for the imports of this file looks at the beginnings of lines.
const withoutIndent = (text: string): string => text.replace(/^\n/, '').replace(/^ {2}/gm, '');

const TOOL = withoutIndent(`
  import { defineTool, RetryableToolError, z } from 'recourse-server';

  export const rollDice = defineTool({
    name: 'roll_dice',
    description: 'Rolls dice and returns each result.',
    effects: 'read', // what a repeat may do: read, idempotent or write
    input: z.object({ count: z.number().int().min(1).max(100), sides: z.number().int() }),
    run: ({ count, sides }) => {
      if (sides < 2) throw new RetryableToolError(\`A die with \${sides} sides cannot be rolled. Use 2 or more.\`);
      return { rolls: Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides)) };
    },
  });
`);

const TEST = withoutIndent(`
  import assert from 'node:assert/strict';
  import { test } from 'node:test';
  import { z } from 'recourse-server';
  import { createTester } from 'recourse-server/testing';
  import { rollDice } from './roll-dice.ts';

  test('two dice with six sides give two numbers from 1 to 6', async (context) => {
    const tester = createTester(rollDice);
    context.after(() => tester.close());
    const result = await tester.call('roll_dice', { count: 2, sides: 6 });
    assert.equal(result.outcome, 'success', result.message);
    const { rolls } = z.object({ rolls: z.array(z.number().int().min(1).max(6)) }).parse(result.value);
    assert.equal(rolls.length, 2);
  });

  test('a die with one side is a mistake that the model can correct', async (context) => {
    const tester = createTester(rollDice);
    context.after(() => tester.close());
    const result = await tester.call('roll_dice', { count: 1, sides: 1 });
    assert.equal(result.outcome, 'retry');
    assert.match(result.message, /Use 2 or more\\./);
  });
`);

const WRITE = withoutIndent(`
  import { appendFileSync, existsSync, readFileSync } from 'node:fs';
  import { tmpdir } from 'node:os';
  import { join } from 'node:path';
  import { defineTool, z } from 'recourse-server';

  // Calls may run in several processes.
  const FILE = join(tmpdir(), 'recourse-notes.jsonl');

  export const addNote = defineTool({
    name: 'add_note',
    description: 'Writes a note down.',
    effects: 'write',
    input: z.object({ text: z.string().min(1).max(1000) }),
    run: ({ text }, { effectId }) => {
      // The same for each repeat under an Idempotency-Key: the note of an earlier try is found by it. An API gets it as its
      // idempotency key or reference.
      const isNew = !existsSync(FILE) || !readFileSync(FILE, 'utf8').includes(\`{"id":"\${effectId}"\`);
      if (isNew) appendFileSync(FILE, \`\${JSON.stringify({ id: effectId, text })}\\n\`);
      return { id: effectId, isNew };
    },
  });
`);

const WRITE_TEST = withoutIndent(`
  import assert from 'node:assert/strict';
  import { randomUUID } from 'node:crypto';
  import { test } from 'node:test';
  import { createTester } from 'recourse-server/testing';
  import { addNote } from './add-note.ts';

  test('a repeat finds the note of the first try, also where the service has no record of that', async () => {
    const key = randomUUID();
    const add = async (): Promise<unknown> => {
      const tester = createTester(addNote); // knows nothing of the one before
      const result = await tester.call('add_note', { text: 'Buy tea.' }, { key });
      await tester.close();
      return result.value;
    };
    const first = await add();
    assert.partialDeepStrictEqual(first, { isNew: true });
    assert.deepEqual(await add(), { ...Object(first), isNew: false });
  });
`);

// By which a checkout is found with its sources and not with what a build makes of them.
const CONDITION = '@recourse/source';
const NODE = `node -C ${CONDITION}`;

const writeManifest = ({ name, recourse }: Template): string => {
  const start = { name, private: true, type: 'module' };
  if (recourse.kind === 'checkout') return toJson({ ...start, scripts: writeCheckoutScripts(recourse.fromTools) });
  return toJson({
    ...start,
    scripts: { test: 'node --test', check: 'recourse-server check .', types: 'tsc' },
    ...(recourse.kind === 'missing' ? { dependencies: { 'recourse-server': `file:${recourse.root}` } } : {}),
    devDependencies: { '@types/node': '>=24', typescript: '>=5.9' },
  });
};

// With the checkout's own packages: npm would take away the link to the checkout when it installs others here.
const writeCheckoutScripts = (checkout: string) => ({
  test: `${NODE} --test`,
  check: `${NODE} ${checkout}/src/main.ts check .`,
  types: `node ${checkout}/node_modules/typescript/bin/tsc`,
});

const writeTypeScriptSettings = ({ recourse }: Template): string =>
  toJson({
    compilerOptions: {
      target: 'es2024',
      module: 'nodenext',
      types: ['node'],
      ...(recourse.kind === 'checkout'
        ? { typeRoots: [`${recourse.fromTools}/node_modules/@types`], customConditions: [CONDITION] }
        : {}),
      strict: true,
      noEmit: true,
      noUncheckedIndexedAccess: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
    },
    include: ['**/*.ts'],
  });

const toJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const writeReadme = ({ recourse }: Template): string => {
  const here = recourse.kind === 'checkout' ? `${NODE} ${recourse.fromTools}/src/main.ts` : 'npx recourse-server';
  const types = (recourse.kind === 'checkout' ? 'npm run types' : 'npm install && npm run types').padEnd(33);
  return `# Tools

Each \`.ts\` file here that exports what \`defineTool\` returns is served by Recourse. Tests (\`*.test.ts\`) are not.

\`\`\`sh
npm test                         # the tests, with nothing installed but recourse-server
${here} check .
${here} call --tools . roll_dice count=2 sides=6
${here} --tools .          # serves them; a change needs no restart
${types}# checks the types
\`\`\`
`;
};
