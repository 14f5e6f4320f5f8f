import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, onTestFinished, test } from 'vitest';
import { ALERTS, readDeployed } from './alert-rules.ts';
import { ROOT } from './script-sandbox.ts';

const RUNBOOK = readDeployed('docs/operations.md');
const PAGES = ['docs/operations.md', 'docs/deployment.md'].map(readDeployed).join('\n');

const run = promisify(execFile);

/** The blocks of shell commands under a heading, up to the next one. */
const blocksUnder = (heading: string): readonly string[] => {
  const [section = ''] = (RUNBOOK.split(`\n${heading}\n`)[1] ?? '').split(/^#{2,4} /m);
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
};

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<RunningService> => {
  const service = await startService(environment);
  onTestFinished(service.stop);
  return service;
};

test('the table of alerts has all of them, as the rules have severity and time', () => {
  const rows = RUNBOOK.match(/^\| \[Recourse\w+\].+$/gm) ?? [];
  const said = rows.map((row) => row.split(' | ').slice(0, 3).join(' '));
  const rules = ALERTS.map(
    ({ alert, labels, for: lasts = '–' }) => `| [${alert}](#${alert.toLowerCase()}) ${labels.severity} ${lasts}`,
  );
  expect(said.toSorted()).toEqual(rules.toSorted());
});

test('every command for a cluster says in which namespace', () => {
  const commands = PAGES.match(/(?<=^|`|\| )\s*kubectl \w+ [^`\n]+/gm) ?? [];
  expect(commands.length).toBeGreaterThan(20);
  const needsNone = /^\s*kubectl create namespace agents$/;
  expect(commands.filter((command) => !command.includes(' -n agents') && !needsNone.test(command))).toEqual([]);
});

// What stands between the shell of whoever is on call and the container: nothing, here.
const FAKES = {
  docker: '#!/bin/sh\n[ "$2" = logs ] && exec cat "$LOG"\nshift 4\nexec "$@"\n',
  kubectl: '#!/bin/sh\n[ "$1" = logs ] && exec cat "$LOG"\nshift 5\nexec "$@"\n',
} as const;

const createShell = (service: RunningService) => {
  const { root, write } = makeDirectory(FAKES);
  for (const name of Object.keys(FAKES)) chmodSync(join(root, name), 0o755);
  return async (script: string): Promise<string> => {
    write(
      'log',
      service
        .logLines()
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    );
    const path = [root, process.env['PATH'] ?? ''].join(delimiter);
    const { stdout } = await run('sh', ['-c', script], { env: { PATH: path, LOG: join(root, 'log') } });
    return stdout;
  };
};

test.each([0, 1])(
  'the commands of variant %i show the metrics of a replica, and the lines of a session',
  async (variant) => {
    const service = await start();
    await service.call([{ name: 'echo', arguments: { text: 'x' } }], { session_id: 's_42' });
    await service.call([{ name: 'echo', arguments: { text: 'x' } }], { session_id: 's_43' });
    const shell = createShell(service);
    const defined = (blocksUnder('### Commands')[variant] ?? '').replace('9464', String(service.port));
    expect(await shell(`${defined}metrics`)).toContain('\nrecourse_build_info{');
    const [, bySession = ''] = /`(logs \| grep "\$\(printf %s s_42 [^`]+)`/.exec(RUNBOOK) ?? [];
    const lines = (await shell(`${defined}${bySession}`)).trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'batch',
      session: 'anonymous:b9704817c9548ae04c53e9b02cbb0e9c85bb2ab3ed5e3acbd1a512195d43f6fc',
    });
  },
);

test('the links to the runbook and to the console lead there once they were told where it is', async () => {
  const { root } = makeDirectory();
  const files = ['deploy/grafana/dashboards/recourse.json', 'deploy/alerts.yml'];
  mkdirSync(join(root, 'deploy/grafana/dashboards'), { recursive: true });
  for (const file of files) copyFileSync(join(ROOT, file), join(root, file));
  const blocks = ['## Watch it', '### The console'].flatMap(blocksUnder);
  writeFileSync(join(root, 'tell.sh'), blocks.filter((block) => block.includes('sed -i')).join(''));
  await run('sh', ['tell.sh'], { cwd: root });
  const page = 'https://git.example.com/recourse/docs/operations.md';
  const console = 'https://recourse.example.com/console';
  const [dashboard = '', alerts = ''] = files.map((file) => readFileSync(join(root, file), 'utf8'));
  expect(JSON.parse(dashboard)).toMatchObject({
    templating: {
      list: [
        ...[{}, {}, {}],
        { name: 'runbook', query: page, current: { text: page, value: page } },
        { name: 'console', query: console, current: { text: console, value: console } },
      ],
    },
  });
  expect(alerts.match(/(?<=runbook_url: ).+/g)).toEqual(ALERTS.map(({ alert }) => `${page}#${alert.toLowerCase()}`));
});
