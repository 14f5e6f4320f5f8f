import { type ChildProcess, spawn } from 'node:child_process';

/** Kills the server once our end of its pipe closes: the system does that even if this process is killed itself. */
export const watchOver = (server: ChildProcess): void => {
  if (server.pid === undefined) return;
  const script = 'while read -r _; do :; done; kill -9 "$1"';
  const watchdog = spawn('sh', ['-c', script, 'watchdog', String(server.pid)], { stdio: ['pipe', 'ignore', 'ignore'] });
  server.once('exit', () => watchdog.kill('SIGKILL'));
  watchdog.unref();
};
