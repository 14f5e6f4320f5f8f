import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { createScriptSandbox, ROOT } from './script-sandbox.ts';

// Comments and line breaks out: one instruction a line.
const instructions = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '');
const finalStage = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));

const wordsOf = (prefix: string): readonly string[] => {
  const line = finalStage.find((each) => each.startsWith(prefix));
  return z.array(z.string()).parse(JSON.parse(line?.slice(line.indexOf('[')) ?? 'null'));
};

test('the image starts node itself, not as root', () => {
  expect(wordsOf('ENTRYPOINT')).toEqual([]);
  expect(wordsOf('CMD')).toEqual(['node', 'dist/main.js']);
  // By its number, for Kubernetes cannot see of a name that it is not root.
  expect(finalStage).toContain('USER 1000:1000');
  expect(finalStage).toContain('STOPSIGNAL SIGTERM');
});

test('every stage has the same base, which a build may pin by its digest', () => {
  expect(instructions[0]).toBe('ARG NODE_IMAGE=node:26-bookworm-slim');
  expect(instructions.filter((line) => line.startsWith('FROM'))).toEqual([
    'FROM $NODE_IMAGE AS build',
    'FROM $NODE_IMAGE AS dependencies',
    'FROM $NODE_IMAGE',
  ]);
});

test('the image installs production dependencies without a second Node', () => {
  expect(instructions.find((line) => line.startsWith('RUN npm ci --omit'))).toMatch(
    /^RUN npm ci --omit=dev --omit=optional && ln -s .. node_modules\/recourse-server && rm -r node_modules\/@recourse\/client node_modules\/@recourse\/checkout node_modules\/@recourse\/test-support && find node_modules /,
  );
  expect(finalStage.filter((line) => line.startsWith('COPY') || line.startsWith('RUN'))).toEqual([
    'COPY package.json ./',
    'COPY --from=dependencies /app/node_modules node_modules',
    'COPY --from=build /app/dist dist',
    'COPY --from=build /app/packages packages',
    'COPY --from=build /app/sbom.cdx.json ./',
    'COPY --chown=node:node examples/workspace /workspace',
  ]);
});

test('what is taken out of the dependencies is nothing that runs, and no licence', () => {
  const removal = instructions.find((line) => line.includes('find node_modules'))?.replace(/^.* && (?=find )/, '');
  const sandbox = createScriptSandbox();
  for (const file of [
    'a.js',
    'a.cjs',
    'a.json',
    'LICENSE',
    'LICENSE.md',
    'licence.md',
    'NOTICE.md',
    'a.wasm',
    'a.html',
  ]) {
    sandbox.write(`node_modules/kept/${file}`, '');
  }
  for (const file of ['a.js.map', 'a.d.ts', 'a.ts', 'a.mts', 'a.d.cts', 'README.md', 'a.markdown']) {
    sandbox.write(`node_modules/removed/${file}`, '');
  }
  // Of the machine: the sandbox has no `find`.
  const { status } = spawnSync('sh', ['-c', removal ?? 'exit 1'], { cwd: sandbox.root });
  expect(status).toBe(0);
  expect(readdirSync(join(sandbox.root, 'node_modules/removed'))).toEqual([]);
  expect(readdirSync(join(sandbox.root, 'node_modules/kept'))).toHaveLength(9);
  sandbox.remove();
});

test('what the Dockerfile copies is what the build context lets through', () => {
  const copied = instructions
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1))
    // With `packages` their manifests are let through.
    .filter((word) => !/^(--|packages\/)/.test(word));
  const admitted = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  expect(admitted.sort()).toEqual([...new Set(copied)].sort());
  expect(admitted.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

const listen = async (server: Server): Promise<string> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return String(address.port);
};

/** The exit code of the image's health check against what answers at these ports. */
const healthOf = async (environment: Readonly<Record<string, string>>): Promise<unknown> => {
  const [command, ...words] = wordsOf('HEALTHCHECK');
  expect(command).toBe('node');
  const probe = spawn(process.execPath, words, { env: environment, stdio: 'inherit' });
  const [code]: unknown[] = await once(probe, 'exit');
  return code;
};

test('the health check asks for /live on the ops port, and where there is none on that of the service', async () => {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/live' ? 200 : 404;
    response.end();
  });
  const port = await listen(server);
  expect(await healthOf({ PORT: port })).toBe(0);
  expect(await healthOf({ PORT: port, OPS_PORT: '' })).toBe(0);
  expect(await healthOf({ PORT: '1', OPS_PORT: port })).toBe(0);
  expect(await healthOf({ PORT: port, OPS_PORT: '1' })).toBe(1);
  server.close();
});

test('the health check fails on an error, on silence and where nobody listens', async () => {
  const broken = createServer((_, response) => {
    response.statusCode = 500;
    response.end();
  });
  const silent = createServer(() => undefined);
  const [brokenPort, silentPort] = [await listen(broken), await listen(silent)];
  expect(await Promise.all([{ PORT: brokenPort }, { PORT: silentPort }, { PORT: '1' }].map(healthOf))).toEqual([
    1, 1, 1,
  ]);
  broken.close();
  silent.closeAllConnections();
  silent.close();
});
