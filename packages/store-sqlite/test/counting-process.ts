import { counterKind, countUp } from '@recourse/test-support/counter-kind.ts';
import { SqliteRecordStore } from '#src/sqlite-record-store.ts';

// Counts in a file until it is killed, and says each count that was promised; why it could not, and goes on.
const [path = ''] = process.argv.slice(2);
const onFailed = (): void => undefined;
const store = new SqliteRecordStore({ path, durable: 'process', cacheBytes: 1_000_000, now: Date.now, onFailed });
const records = store.open(counterKind);
const say = (text: string): void => void process.stdout.write(`${text}\n`);
say('open');
for (;;) {
  try {
    const counts = await Promise.all(['a', 'b', 'c'].map((name) => records.update('t:one', countUp(name), 'long')));
    say(`${counts[2]}`);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    break;
  }
}
store.close();
