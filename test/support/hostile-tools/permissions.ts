import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { defineTool, z } from 'recourse-server';

const trying = (name: string, run: () => unknown) =>
  defineTool({ name, description: 'Tries what it may not.', effects: 'read', input: z.object({}), run });

const PATH = join(tmpdir(), `recourse-hostile-${process.pid}`);

export const tools = [
  trying('starts_a_process', () => spawn('true').pid),
  trying(
    'opens_a_connection',
    () =>
      new Promise((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port: 9 });
        socket.once('connect', resolve).once('error', reject);
      }),
  ),
  trying('writes_a_file', () => writeFileSync(PATH, 'written')),
  trying('reads_a_file', () => readFileSync('/etc/passwd', 'utf8').length),
  trying('starts_a_thread', () => new Worker('0', { eval: true }).threadId),
];
