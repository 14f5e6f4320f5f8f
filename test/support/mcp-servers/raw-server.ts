// An MCP server on stdin and stdout that writes the texts of a script. argv[2]: the script, as JSON.
import { createInterface } from 'node:readline';
import { type RawScript, toRawAnswer } from './raw-script.ts';

const script: RawScript = JSON.parse(process.argv[2] ?? '{}');
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const answer = toRawAnswer(script, JSON.parse(line));
    if (answer !== null) process.stdout.write(`${answer}\n`);
  })
  .on('close', () => process.exit(0));
