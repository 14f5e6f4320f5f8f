import type { FoundPackage } from '../terminal/find-package.ts';

export type TemplateOptions = {
  /** Of the package that the directory becomes. */
  readonly name: string;
  readonly recourse: FoundPackage & {
    /** The path of the package seen from the directory. */
    readonly fromTools: string;
  };
};

/** The files of a new tools directory: path → text. */
export const toTemplateFiles = (options: TemplateOptions): ReadonlyMap<string, string> =>
  new Map([
    ['roll-dice.ts', TOOL],
    ['roll-dice.test.ts', TEST],
    ['package.json', toManifest(options)],
    ['tsconfig.json', toTypeScriptSettings(options)],
    ['README.md', toReadme(options)],
    ['.gitignore', 'node_modules/\n.env\n'],
  ]);

// Indented here, for what looks for the imports of this file looks at the beginnings of lines.
const withoutIndent = (text: string): string => text.replace(/^\n/, '').replace(/^ {2}/gm, '');

const TOOL = withoutIndent(`
  import { defineTool, RetryableToolError, z } from 'recourse';

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
  import { z } from 'recourse';
  import { createTester } from 'recourse/testing';
  import { rollDice } from './roll-dice.ts';

  test('two dice with six sides give two numbers from 1 to 6', async (context) => {
    const tester = createTester(rollDice);
    context.after(() => tester.close());
    const result = await tester.call('roll_dice', { count: 2, sides: 6 });
    assert.equal(result.outcome, 'success', result.message);
    const { rolls } = z.object({ rolls: z.array(z.number().int().min(1).max(6)) }).parse(result.value);
    assert.equal(rolls.length, 2);
  });

  test('a die with one side is a mistake that the model can mend', async (context) => {
    const tester = createTester(rollDice);
    context.after(() => tester.close());
    const result = await tester.call('roll_dice', { count: 1, sides: 1 });
    assert.equal(result.outcome, 'retry');
    assert.match(result.message, /Use 2 or more\\./);
  });
`);

// By which a checkout is found with its sources and not with what a build makes of them.
const CONDITION = '@recourse/source';

const toManifest = ({ name, recourse }: TemplateOptions): string => {
  const start = { name, private: true, type: 'module' };
  if (recourse.kind === 'checkout') return toJson({ ...start, scripts: toCheckoutScripts(recourse.fromTools) });
  return toJson({
    ...start,
    scripts: { test: 'node --test', check: 'recourse check .', types: 'tsc' },
    ...(recourse.kind === 'missing' ? { dependencies: { recourse: `file:${recourse.root}` } } : {}),
    devDependencies: { '@types/node': '>=24', typescript: '>=5.9' },
  });
};

// With the checkout's own packages: npm would take away the link to the checkout when it installs others here.
const toCheckoutScripts = (checkout: string) => ({
  test: `node --conditions=${CONDITION} --test`,
  check: `node ${checkout}/src/main.ts check .`,
  types: `node ${checkout}/node_modules/typescript/bin/tsc`,
});

const toTypeScriptSettings = ({ recourse }: TemplateOptions): string =>
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

const toReadme = ({ recourse }: TemplateOptions): string => {
  const here = recourse.kind === 'checkout' ? `node ${recourse.fromTools}/src/main.ts` : 'npx recourse';
  const types = (recourse.kind === 'checkout' ? 'npm run types' : 'npm install && npm run types').padEnd(33);
  return `# Tools

Each \`.ts\` file here that exports what \`defineTool\` returns is served by Recourse. Tests (\`*.test.ts\`) are not.

\`\`\`sh
npm test                         # the tests, with nothing installed but recourse
${here} check .
${here} call --tools . roll_dice count=2 sides=6
${here} --tools .          # serves them; a change needs no restart
${types}# checks the types
\`\`\`
`;
};
