import { openChannel } from './channel.ts';
import { FileRunner } from './file-runner.ts';

// A tool host: a process that loads tool files and answers their calls over its channel, those of one file at a time.
// Only the service starts it.

const runner: FileRunner = new FileRunner(openChannel((frame) => runner.hear(frame)));

process.on('uncaughtException', (thrown) => runner.onStray(thrown, 'exception'));
process.on('unhandledRejection', (thrown) => runner.onStray(thrown, 'rejection'));
